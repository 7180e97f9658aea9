"""Who contributed what to a ceremony, so that anybody can check it afterwards.

A contribution multiplies secrets into points: X = x·B, where B is what the contribution before left. It carries a
Schnorr proof that its author knows x, bound to everything recorded so far:

    e = keccak(record so far ‖ author ‖ secret's name ‖ B ‖ X ‖ K)        K = k·B,  z = k + e·x        z·B = K + e·X

So nobody can cancel earlier contributions: the product stays unknown while one author forgot its factor.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from martfl.settlement.errors import CeremonyError
from martfl.settlement.keccak import keccak
from martfl.settlement.sampled import curve
from martfl.settlement.sampled.curve import Point
from martfl.settlement.sampled.statement import FIELD

PHASES: Mapping[int, tuple[str, ...]] = {1: ("tau", "alpha", "beta"), 2: ("delta",)}


@dataclass(frozen=True)
class Step:
    """One secret of a contribution: the point after it, and the proof of knowledge."""

    point: Point
    nonce: Point
    response: int


@dataclass(frozen=True)
class Contribution:
    """What one author did in one phase."""

    phase: int
    by: str
    steps: Mapping[str, Step]

    def __post_init__(self) -> None:
        if not self.by.strip() or not self.by.isprintable() or len(self.by) > 100:
            raise CeremonyError(f"a contributor's name has 1 to 100 printable characters, got {self.by!r}")


@dataclass(frozen=True)
class Transcript:
    """The circuit and all contributions to its key, in order."""

    circuit: str  # digest of the constraints
    contributions: tuple[Contribution, ...] = ()

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

    def _prove(self, by: str, name: str, factor: int) -> Step:
        base, k = self.latest(name), 1 + secrets.randbelow(FIELD - 1)
        point, nonce = base * factor, base * k
        return Step(point, nonce, (k + self._challenge(by, name, point, nonce) * factor) % FIELD)

    def _check(self, by: str, name: str, step: Step) -> None:
        e = self._challenge(by, name, step.point, step.nonce)
        if self.latest(name) * step.response != step.nonce + step.point * e:
            raise CeremonyError(f"{by}: the proof of knowing its part of {name} is false")

    def _challenge(self, by: str, name: str, point: Point, nonce: Point) -> int:
        parts = [self.hash(), keccak(by.encode()), keccak(name.encode())]
        parts += [curve.compress(p) for p in (self.latest(name), point, nonce)]
        return int.from_bytes(keccak(b"martfl/ceremony/v1" + b"".join(parts)), "big") % FIELD


def to_json(transcript: Transcript) -> dict[str, Any]:
    """Plain values; points compressed, in hexadecimal."""
    return {
        "circuit": transcript.circuit,
        "contributions": [
            {
                "phase": c.phase,
                "by": c.by,
                "steps": {
                    name: [curve.compress(s.point).hex(), curve.compress(s.nonce).hex(), str(s.response)]
                    for name, s in c.steps.items()
                },
            }
            for c in transcript.contributions
        ],
    }


def from_json(data: Any) -> Transcript:
    """A foreign record; every point is checked here, the proofs by `check`."""
    try:
        listed = [Contribution(int(c["phase"]), str(c["by"]), _steps(c["steps"])) for c in data["contributions"]]
        return Transcript(str(data["circuit"]), tuple(listed))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CeremonyError(f"the record of the ceremony is malformed: {error!r}") from error


def _steps(data: Any) -> dict[str, Step]:
    steps = {}
    for name, (point, nonce, response) in data.items():
        after, committed = (curve.decompress(bytes.fromhex(p), group=1) for p in (point, nonce))
        steps[str(name)] = Step(after, committed, int(response) % FIELD)
    return steps
