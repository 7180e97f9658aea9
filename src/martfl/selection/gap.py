"""The gap statistic: how many clusters a set of scores has.

Tibshirani, Walther, Hastie, *Estimating the number of clusters in a data set via the gap statistic* (2001).

The original criterion compares g with g+1 alone. Two clusters explain three evenly spaced ones no better than they
explain a uniform draw, so it would stop at one there. Hence a second condition: no larger number may be better than g
by more than two deviations (two, because several are compared).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from martfl.arrays import Floats
from martfl.errors import InputError
from martfl.selection.kmeans import best_costs, finite_vector, to_unit

# Costs under this share of the squared range are rounding, not scatter; without a floor log(0) would decide.
COST_FLOOR = 1e-9
# The work of one batch of reference draws, in matrix cells, so that memory stays small for a thousand providers.
BATCH_CELLS = 1_000_000


@dataclass(frozen=True)
class GapStatistic:
    """The chosen number of clusters and the curve that it was read from (entry 0 is for one cluster)."""

    clusters: int
    gaps: Floats  # [g]
    deviations: Floats  # [g]


def gap_statistic(
    scores: ArrayLike, *, max_clusters: int = 4, references: int | None = None, rng: np.random.Generator
) -> GapStatistic:
    """The least g ≤ `max_clusters` with Gap(g) ≥ Gap(g+1) − σ(g+1) and Gap(g) ≥ Gap(h) − 2σ(h) for all h > g + 1.

    The scores are brought to [0, 1] and sorted first: shift, scale and order cannot change the decision.

    Examples:
        >>> import numpy as np
        >>> scores = [0.1, 0.11, 0.12, 0.13, 0.8, 0.81, 0.82, 0.83]
        >>> gap_statistic(scores, rng=np.random.default_rng(0)).clusters
        2
    """
    scores = finite_vector(scores, "scores")
    # The reference's scatter falls with n, so that many scores need fewer draws.
    references = max(20, min(50, 20_000 // scores.size)) if references is None else references
    _require(max_clusters, references)
    scaled = np.asarray(np.round(np.sort(to_unit(scores)), 12), dtype=np.float64)
    most = min(max_clusters, scores.size - 1, np.unique(scaled).size)
    if most < 2:
        return GapStatistic(1, np.zeros(1), np.zeros(1))
    observed = np.log(best_costs(scaled, most + 1) + COST_FLOOR)  # [most+1]
    reference = _reference_logs(scores.size, most + 1, references, rng)  # [references, most+1]
    # Gap(g) = E*[log W*_g] − log W_g ;  σ_g = sd(log W*_g)·√(1 + 1/B)
    gaps = reference.mean(axis=0) - observed
    deviations = reference.std(axis=0) * np.sqrt(1.0 + 1.0 / references)
    later = np.maximum.accumulate((gaps - 2 * deviations)[::-1])[::-1]  # max over h ≥ g of Gap(h) − 2σ(h)
    enough = (gaps[:-1] >= gaps[1:] - deviations[1:]) & (gaps[:-1] >= later[1:])
    clusters = int(np.argmax(enough)) + 1 if enough.any() else most
    return GapStatistic(clusters, gaps, deviations)


def _reference_logs(n: int, most: int, references: int, rng: np.random.Generator) -> Floats:
    draws = np.sort(rng.random((references, n)), axis=1)
    batch = max(1, BATCH_CELLS // (n * (n + 1)))
    costs = [best_costs(draws[i : i + batch], most) for i in range(0, references, batch)]
    return np.asarray(np.log(np.concatenate(costs) + COST_FLOOR))


def _require(max_clusters: int, references: int) -> None:
    if max_clusters < 1:
        raise InputError(f"max_clusters must be at least 1, got {max_clusters}")
    if references < 2:
        raise InputError(f"references must be at least 2, got {references}")
