"""Integer weights: Algorithm 1's real weights as integers that sum to 2^16, by the largest-remainder rule.

    ideal_i = w_i · 2^16 / Σ w,   k_i = ⌊ideal_i⌋,   the missing units go to the largest fractions (ties: lowest index)

Computed in exact fractions, so every party on every machine gets the same integers. A provider that was bought
(w_i > 0) never falls to zero, because what is handed over is paid: it keeps one unit, taken from the largest weight.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from martfl.settlement.errors import WeightError

WEIGHT_BITS = 16
WEIGHT_TOTAL = 1 << WEIGHT_BITS


def integer_weights(weights: Sequence[float]) -> list[int]:
    """Integers proportional to `weights` that sum to 2^16; zero stays zero, positive stays positive.

    k_i = ⌊w_i · 2^16 / Σ w⌋, and one unit more for the largest fractions until the sum is 2^16.

    Examples:
        >>> integer_weights([0.5, 0.25, 0.25])
        [32768, 16384, 16384]
        >>> integer_weights([1, 1, 1])
        [21846, 21845, 21845]
    """
    real = _check_real(weights)
    total = sum(real, Fraction(0))
    ideal = [w * WEIGHT_TOTAL / total for w in real]
    units = [math.floor(x) for x in ideal]
    missing = WEIGHT_TOTAL - sum(units)
    # A zero weight has fraction zero; it cannot win a unit, since fewer units are missing than fractions are positive.
    by_fraction = sorted(range(len(ideal)), key=lambda i: (units[i] - ideal[i], i))
    for i in by_fraction[:missing]:
        units[i] += 1
    return _keep_positive(units, real)


def check_weights(weights: Sequence[int], *, providers: int) -> list[int]:
    """Integer weights as a model is published with them: one per provider, none negative, sum 2^16.

    0 ≤ k_i ≤ 2^16 and Σ k_i = 2^16.

    Examples:
        >>> check_weights([40_000, 25_536], providers=2)
        [40000, 25536]
    """
    units = [_as_int(k) for k in weights]
    if len(units) != providers:
        raise WeightError(f"one weight per provider: {providers} providers, got {len(units)} weights")
    for i, k in enumerate(units):
        if not 0 <= k <= WEIGHT_TOTAL:
            raise WeightError(f"weights lie in 0..{WEIGHT_TOTAL}, weight {i} is {k}")
    if sum(units) != WEIGHT_TOTAL:
        raise WeightError(f"weights must sum to {WEIGHT_TOTAL}, got {sum(units)}")
    return units


def _check_real(weights: Sequence[float]) -> list[Fraction]:
    values = [float(w) for w in weights]
    if not 1 <= len(values) <= WEIGHT_TOTAL:
        raise WeightError(f"between 1 and {WEIGHT_TOTAL} weights, got {len(values)}")
    for i, w in enumerate(values):
        if not math.isfinite(w) or w < 0:
            raise WeightError(f"weights are finite and not negative, weight {i} is {w}")
    if not any(values):
        raise WeightError("at least one weight must be positive, all are zero")
    return [Fraction(w) for w in values]


def _keep_positive(units: list[int], real: list[Fraction]) -> list[int]:
    for i, w in enumerate(real):
        if w > 0 and units[i] == 0:
            richest = max(range(len(units)), key=lambda j: (units[j], -j))
            units[richest] -= 1
            units[i] = 1
    return units


def _as_int(k: int) -> int:
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise WeightError(f"weights must be integers, got {k!r}")
    return int(k.__index__())
