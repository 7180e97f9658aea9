"""Who contributed what to a ceremony, so that anybody can check it afterwards.

A contribution multiplies secrets into points: X = x·B, where B is what the contribution before left. It carries a
Schnorr proof that its author knows x, bound to everything recorded so far:

    e = keccak(record so far ‖ author ‖ secret's name ‖ B ‖ X ‖ K)        K = k·B,  z = k + e·x        z·B = K + e·X

So nobody can cancel earlier contributions: the product stays unknown while one author forgot its factor.
"""

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from martfl.settlement.errors import CeremonyError, SettlementError
from martfl.settlement.keccak import keccak
from martfl.settlement.sampled import curve
from martfl.settlement.sampled.curve import Point
from martfl.settlement.sampled.statement import FIELD
from martfl.values import Json

MOST_CONTRIBUTIONS = 256  # of both phases together
PHASES: Mapping[int, tuple[str, ...]] = {1: ("tau", "alpha", "beta"), 2: ("delta",)}
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class SecretProof:
    """One secret of a contribution: the point after it, and the proof of knowledge."""

    point: Point
    nonce: Point
    response: int


@dataclass(frozen=True)
class Contribution:
    """What one author did in one phase."""

    phase: int
    by: str
    steps: Mapping[str, SecretProof]

    def __post_init__(self) -> None:
        if not self.by.strip() or not self.by.isprintable() or len(self.by) > 100:
            raise CeremonyError(f"a contributor's name has 1 to 100 printable characters, got {self.by[:100]!r}")

    @cached_property
    def listed(self) -> Json:
        """Plain values; points compressed, in hexadecimal."""
        steps = {
            name: [curve.compress(s.point).hex(), curve.compress(s.nonce).hex(), str(s.response)]
            for name, s in self.steps.items()
        }
        return {"phase": self.phase, "by": self.by, "steps": steps}


@dataclass(frozen=True)
class Transcript:
    """The circuit and all contributions to its key, in order."""

    circuit: str  # digest of the constraints
    contributions: tuple[Contribution, ...] = ()

    def __post_init__(self) -> None:
        if len(self.contributions) > MOST_CONTRIBUTIONS:
            raise CeremonyError(
                f"a ceremony has at most {MOST_CONTRIBUTIONS} contributions, got {len(self.contributions)}"
            )

    def hash(self) -> bytes:
        """A name for the record so far; a contributor keeps it as a receipt."""
        return keccak(json.dumps(to_json(self), sort_keys=True).encode())

    def latest(self, name: str) -> Point:
        """The point that the last contribution to this secret left; the generator at first."""
        points = [c.steps[name].point for c in self.contributions if name in c.steps]
        return points[-1] if points else curve.generator(1)

    def extended(self, phase: int, by: str, factors: Mapping[str, int]) -> "Transcript":
        """With the proof that `by` knows these factors."""
        steps = {name: self._prove(by, name, factors[name]) for name in PHASES[phase]}
        return Transcript(self.circuit, (*self.contributions, Contribution(phase, by, steps)))

    def check(self) -> None:
        """Raise unless every contribution follows from the one before."""
        past, phase = Transcript(self.circuit), 1
        for contribution in self.contributions:
            if contribution.phase < phase or set(contribution.steps) != set(PHASES.get(contribution.phase, ())):
                raise CeremonyError(f"{contribution.by}: not a contribution of phase {phase}")
            for name, step in contribution.steps.items():
                past._check(contribution.by, name, step)
            phase = contribution.phase
            past = Transcript(self.circuit, (*past.contributions, contribution))

    def _prove(self, by: str, name: str, factor: int) -> SecretProof:
        base, k = self.latest(name), 1 + secrets.randbelow(FIELD - 1)
        point, nonce = base * factor, base * k
        return SecretProof(point, nonce, (k + self._challenge(by, name, point, nonce) * factor) % FIELD)

    def _check(self, by: str, name: str, step: SecretProof) -> None:
        e = self._challenge(by, name, step.point, step.nonce)
        if self.latest(name) * step.response != step.nonce + step.point * e:
            raise CeremonyError(f"{by}: the proof of knowing its part of {name} is false")

    def _challenge(self, by: str, name: str, point: Point, nonce: Point) -> int:
        parts = [self.hash(), keccak(by.encode()), keccak(name.encode())]
        parts += [curve.compress(p) for p in (self.latest(name), point, nonce)]
        return int.from_bytes(keccak(b"martfl/ceremony/v1" + b"".join(parts)), "big") % FIELD


def to_json(transcript: Transcript) -> Json:
    """Plain values."""
    return {"circuit": transcript.circuit, "contributions": [c.listed for c in transcript.contributions]}


def from_json(data: Json) -> Transcript:
    """A foreign record; every point is checked here, the proofs by `check`."""
    try:
        circuit, listed = data["circuit"], data["contributions"]
        if not isinstance(circuit, str) or not _DIGEST.fullmatch(circuit) or not isinstance(listed, list):
            raise CeremonyError("the record of the ceremony is malformed: a circuit's digest and a list are expected")
        if len(listed) > MOST_CONTRIBUTIONS:
            raise CeremonyError(f"a ceremony has at most {MOST_CONTRIBUTIONS} contributions, got {len(listed)}")
        return Transcript(circuit, tuple(_contribution(entry) for entry in listed))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, SettlementError):
            raise
        raise CeremonyError(f"the record of the ceremony is malformed: {str(error)[:100]!r}") from error


def _contribution(entry: Json) -> Contribution:
    phase, by, steps = entry["phase"], entry["by"], entry["steps"]
    if not isinstance(by, str) or type(phase) is not int or set(steps) != set(PHASES.get(phase, ())):
        raise CeremonyError("the record of the ceremony is malformed: a contribution is of phase 1 or 2, by somebody")
    return Contribution(phase, by, {name: _step(*steps[name]) for name in PHASES[phase]})


def _step(point: str, nonce: str, response: str) -> SecretProof:
    after, committed = (curve.decompress(bytes.fromhex(p), group=1) for p in (point, nonce))
    if not isinstance(response, str) or len(response) > len(str(FIELD)):
        raise CeremonyError("the record of the ceremony is malformed: a response is a number below the field's order")
    return SecretProof(after, committed, int(response) % FIELD)
