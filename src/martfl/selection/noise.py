"""Updates that have nothing in common with anything: random signs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from martfl.selection.halves import norm

CLEARLY = 2.0  # how many times the bar somebody must pass, before falling short of it means anything


def tie(update: Any, references: Iterable[Any]) -> float:
    """How much an update has in common with the reference that it is closest to, or most opposed to, in deviations.

    Under random signs  a·b = Σ ±|a_i b_i|  has deviation  √(Σ a_i² b_i²).  Opposite directions are no noise: where the
    root data are biased, good updates may well oppose each other.
    """
    products = [update * reference for reference in references]
    return max((abs(float(product.sum())) / length for product in products if (length := norm(product))), default=0.0)


def in_common(updates: Sequence[Any]) -> float:
    """How much updates have in common with each other, over all pairs, in the same deviations.

    Under random signs the products of pairs are independent of each other, so that their variances add up; over pairs
    Σ ab = ((Σa)² − Σa²) / 2  and  Σ a²b² = ((Σa²)² − Σa⁴) / 2.
    """
    total, squares, fourths = sum(updates), sum(a**2 for a in updates), sum(a**4 for a in updates)
    variance = float((squares**2 - fourths).sum()) / 2
    return float((total**2 - squares).sum()) / 2 / math.sqrt(variance) if variance > 0 else 0.0


def noisy(ties: Mapping[int, float], *, agreement: float) -> list[int]:
    """Whose tie is within `agreement` deviations, while somebody's is so far beyond that chance would have shown."""
    if max(ties.values(), default=0.0) < CLEARLY * agreement:
        return []
    return [i for i, strength in ties.items() if strength <= agreement]
