"""Phase 1: powers of a secret τ, with secrets α and β, for every circuit of a size (Bowe, Gabizon, Miers 2017).

    τ^i·G1  (i ≤ 2N − 2)      τ^i·G2, ατ^i·G1, βτ^i·G1  (i < N)      β·G2

Nobody knows τ, α, β: each contributor multiplies its own into every point and forgets them.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from martfl.settlement.errors import CeremonyError
from martfl.settlement.sampled import curve
from martfl.settlement.sampled.ceremony.transcript import Transcript
from martfl.settlement.sampled.curve import Point
from martfl.settlement.sampled.groth16 import powers_of
from martfl.settlement.sampled.statement import FIELD

CHALLENGE_BITS = 128


@dataclass(frozen=True)
class Powers:
    """The points of phase 1; N = len(tau_2)."""

    tau_1: list[Point]  # (2N − 1,)
    tau_2: list[Point]  # (N,)
    alpha_1: list[Point]  # (N,)
    beta_1: list[Point]  # (N,)
    beta_2: Point

    @classmethod
    def start(cls, size: int) -> "Powers":
        """All secrets 1: anybody can make it, so nothing has to be trusted."""
        one, two = curve.generator(1), curve.generator(2)
        return cls([one] * (2 * size - 1), [two] * size, [one] * size, [one] * size, two)

    def times(self, tau: int, alpha: int, beta: int) -> "Powers":
        """With these factors in every point."""
        size = len(self.tau_2)
        powers = powers_of(tau, 1, 2 * size - 1)
        return Powers(
            curve.products(self.tau_1, powers, group=1),
            curve.products(self.tau_2, powers[:size], group=2),
            curve.products(self.alpha_1, [alpha * x % FIELD for x in powers[:size]], group=1),
            curve.products(self.beta_1, [beta * x % FIELD for x in powers[:size]], group=1),
            self.beta_2 * beta,
        )


def check_powers(powers: Powers, transcript: Transcript, *, size: int) -> None:
    """Raise unless these are powers of what the record's contributions multiply up to."""
    lengths = [len(powers.tau_1), len(powers.tau_2), len(powers.alpha_1), len(powers.beta_1)]
    if lengths != [2 * size - 1, size, size, size]:
        raise CeremonyError(f"phase 1 has other sizes than the circuit asks for: {lengths} for N = {size}")
    one, two = curve.generator(1), curve.generator(2)
    firsts = {"tau": powers.tau_1[1], "alpha": powers.alpha_1[0], "beta": powers.beta_1[0]}
    if powers.tau_1[0] != one or powers.tau_2[0] != two:
        raise CeremonyError("the zeroth powers of τ are not the generators")
    for name, point in firsts.items():
        if point != transcript.latest(name):
            raise CeremonyError(f"phase 1 holds another {name} than its record")
    require_equal("τ in both groups", firsts["tau"], two, one, powers.tau_2[1])
    require_equal("β in both groups", firsts["beta"], two, one, powers.beta_2)
    for name, table in (("τ", powers.tau_1), ("α", powers.alpha_1), ("β", powers.beta_1)):
        low, high = _shifted(table, group=1)
        require_equal(f"the powers of τ with {name}", high, two, low, powers.tau_2[1])
    low, high = _shifted(powers.tau_2, group=2)
    require_equal("the powers of τ in G2", firsts["tau"], low, one, high)


def require_equal(what: str, left_1: Point, left_2: Point, right_1: Point, right_2: Point) -> None:
    """e(left) = e(right), or an error that names the rule."""
    if not curve.pairings_cancel([left_1, -right_1], [left_2, right_2]):
        raise CeremonyError(f"the ceremony's points do not fit together: {what}")


def challenges(count: int) -> list[int]:
    """Coefficients of a random combination, drawn after what they check is fixed."""
    return [1 + secrets.randbelow((1 << CHALLENGE_BITS) - 1) for _ in range(count)]


def _shifted(points: Sequence[Point], *, group: curve.Group) -> tuple[Point, Point]:
    """Σ r_i P_i and Σ r_i P_{i+1}: the second is τ times the first if each point is τ times the one before."""
    drawn = challenges(len(points) - 1)
    return curve.multiexp(points[:-1], drawn, group=group), curve.multiexp(points[1:], drawn, group=group)
