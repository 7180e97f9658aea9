"""A set-up among many for the Groth16 key: sound if one contributor in each of two phases forgot its secrets.

    start → contribute … contribute → prepare → contribute … contribute → check → install
            phase 1: τ, α, β                    phase 2: δ

The state is one file that goes from hand to hand. Nothing that was contributed needs trust: `check` shows that the key
is the circuit's own and contains every contribution that the record lists.
"""

import secrets
from dataclasses import dataclass, replace

from martfl.settlement.errors import CeremonyError
from martfl.settlement.sampled.ceremony.circuit_key import check_key, derive_key, times_delta
from martfl.settlement.sampled.ceremony.powers import Powers, check_powers
from martfl.settlement.sampled.ceremony.transcript import Contribution, Transcript
from martfl.settlement.sampled.circuit import compile_circuit
from martfl.settlement.sampled.groth16 import ProvingKey, domain_size
from martfl.settlement.sampled.r1cs import R1CS
from martfl.settlement.sampled.statement import FIELD

__all__ = [
    "Ceremony",
    "CeremonyError",
    "Contribution",
    "ProvingKey",
    "Transcript",
    "check",
    "compile_circuit",
    "contribute",
    "prepare",
    "receipts",
    "start",
]


@dataclass(frozen=True)
class Ceremony:
    """The record, the points of phase 1 and, in phase 2, the key."""

    transcript: Transcript
    powers: Powers
    key: ProvingKey | None = None


def start(r1cs: R1CS) -> Ceremony:
    """Nothing contributed yet."""
    return Ceremony(Transcript(r1cs.digest()), Powers.start(domain_size(r1cs.constraints)))


def contribute(ceremony: Ceremony, *, by: str) -> Ceremony:
    """With fresh secrets of `by` in all points of the present phase; they die with this call."""
    if ceremony.key is None:
        tau, alpha, beta = (1 + secrets.randbelow(FIELD - 1) for _ in range(3))
        transcript = ceremony.transcript.extended(1, by, {"tau": tau, "alpha": alpha, "beta": beta})
        return Ceremony(transcript, ceremony.powers.times(tau, alpha, beta))
    delta = 1 + secrets.randbelow(FIELD - 1)
    transcript = ceremony.transcript.extended(2, by, {"delta": delta})
    return replace(ceremony, transcript=transcript, key=times_delta(ceremony.key, delta))


def prepare(ceremony: Ceremony, r1cs: R1CS) -> Ceremony:
    """End phase 1: check it, and derive the circuit's key without any secret."""
    if ceremony.key is not None:
        raise CeremonyError("the ceremony is in phase 2 already")
    _check_phase_1(ceremony, r1cs)
    return replace(ceremony, key=derive_key(r1cs, ceremony.powers))


def check(ceremony: Ceremony, r1cs: R1CS) -> ProvingKey:
    """The finished key; raises unless it is the circuit's, and holds exactly the contributions of the record."""
    _check_phase_1(ceremony, r1cs)
    if ceremony.key is None or ceremony.transcript.contributions[-1].phase != 2:
        raise CeremonyError("the ceremony is not finished: nobody has contributed to phase 2")
    check_key(ceremony.key, r1cs, ceremony.powers, ceremony.transcript)
    return ceremony.key


def receipts(transcript: Transcript) -> list[tuple[Contribution, bytes]]:
    """Every contribution with the record's hash after it: whoever finds its own knows that its part is in the key."""
    listed = transcript.contributions
    return [(c, Transcript(transcript.circuit, listed[: i + 1]).hash()) for i, c in enumerate(listed)]


def _check_phase_1(ceremony: Ceremony, r1cs: R1CS) -> None:
    transcript = ceremony.transcript
    if transcript.circuit != r1cs.digest():
        raise CeremonyError(f"the ceremony is for circuit {transcript.circuit}, not for {r1cs.digest()}")
    if not transcript.contributions or transcript.contributions[0].phase != 1:
        raise CeremonyError("nobody has contributed to phase 1")
    transcript.check()
    check_powers(ceremony.powers, transcript, size=domain_size(r1cs.constraints))
