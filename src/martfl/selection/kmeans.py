"""Exact k-means on a line, by dynamic programming over the sorted values.

An optimal clustering of numbers cuts the sorted sequence into runs, so the best cost of the first j values in k runs is
D[k, j] = min_i D[k−1, i] + cost(i, j), where cost(i, j) is the squared deviation of values i..j−1 from their mean.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from martfl.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Clustering:
    """Clusters in rising order: label 0 is the lowest, `centroids` rise with the label."""

    labels: NDArray[np.int64]  # [n]
    centroids: Floats  # [k]
    cost: float


def run_costs(ordered: Floats) -> Floats:
    """The squared deviation of every run of sorted values, infinite for empty runs: `[…, n]` → `[…, n, n+1]`."""
    n = ordered.shape[-1]
    centred = ordered - ordered.mean(axis=-1, keepdims=True)  # keeps the prefix sums small, so that they do not cancel
    edge = np.zeros((*ordered.shape[:-1], 1))
    sums = np.concatenate([edge, np.cumsum(centred, axis=-1)], axis=-1)  # […, n+1]
    squares = np.concatenate([edge, np.cumsum(centred**2, axis=-1)], axis=-1)
    start, stop = np.arange(n)[:, None], np.arange(n + 1)[None, :]
    length = np.where(stop > start, stop - start, 1)
    total = sums[..., None, :] - sums[..., :-1, None]  # […, n, n+1]
    cost = squares[..., None, :] - squares[..., :-1, None] - total**2 / length
    return np.where(stop > start, np.maximum(cost, 0.0), np.inf)


def best_costs(ordered: Floats, most: int) -> Floats:
    """The optimal cost for 1..`most` clusters: `[…, n]` → `[…, most]`."""
    costs = run_costs(ordered)
    levels = [costs[..., 0, :]]  # one cluster: D[1, j] = cost(0, j)
    for _ in range(1, most):
        levels.append(_next_level(levels[-1], costs)[0])
    return np.stack([level[..., -1] for level in levels], axis=-1)


def kmeans(values: Floats, clusters: int) -> Clustering:
    """Cut `values` into at most `clusters` clusters of the least total squared deviation."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise InputError(f"k-means needs a non-empty vector of finite numbers, got shape {values.shape}")
    if clusters < 1:
        raise InputError(f"k-means needs at least one cluster, got {clusters}")
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    cuts, cost = _optimal_cuts(ordered, min(clusters, np.unique(values).size))
    labels = np.empty(values.size, dtype=np.int64)
    labels[order] = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    centroids = np.array([ordered[a:b].mean() for a, b in pairwise(cuts)])
    return Clustering(labels, centroids, cost)


def _next_level(previous: Floats, costs: Floats) -> tuple[Floats, NDArray[np.int64]]:
    reached = previous[..., :-1, None] + costs  # […, i, j]: the last run is i..j−1
    return reached.min(axis=-2), reached.argmin(axis=-2)


def _optimal_cuts(ordered: Floats, clusters: int) -> tuple[list[int], float]:
    costs = run_costs(ordered)
    level, choices = costs[0], []
    for _ in range(1, clusters):
        level, choice = _next_level(level, costs)
        choices.append(choice)
    cuts = [ordered.size]
    for choice in reversed(choices):
        cuts.append(int(choice[cuts[-1]]))
    return [0, *reversed(cuts)], float(level[-1])
