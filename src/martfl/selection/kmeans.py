"""Exact k-means on a line, by dynamic programming over the sorted values.

An optimal clustering of numbers cuts the sorted sequence into runs, so the best cost of the first j values in k runs is
D[k, j] = min_i D[k−1, i] + cost(i, j), where cost(i, j) is the squared deviation of values i..j−1 from their mean.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from martfl.arrays import Floats
from martfl.errors import InputError


@dataclass(frozen=True)
class Clustering:
    """Clusters in rising order: label 0 is the lowest, `centroids` rise with the label."""

    labels: NDArray[np.int64]  # [n]
    centroids: Floats  # [k]
    cost: float


def finite_vector(values: ArrayLike, name: str) -> Floats:
    """`values` as a vector of at least one finite number, or an error that says what it is instead."""
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a vector of real numbers, got {values!r:.100}") from None
    if vector.ndim != 1 or vector.size == 0:
        raise InputError(f"{name} must be a vector with at least one entry, got shape {vector.shape}")
    broken = np.flatnonzero(~np.isfinite(vector))
    if broken.size:
        raise InputError(f"{name} must be finite, but entry {broken[0]} is {vector[broken[0]]}")
    return vector


def to_unit(values: Floats) -> Floats:
    """`values` shifted and scaled to [0, 1], so that no square of them overflows or vanishes; equal ones become 0."""
    peak = np.abs(values).max()
    if peak == 0.0:
        return values
    scaled = values / peak
    width = np.ptp(scaled)
    return np.asarray((scaled - scaled.min()) / (width if width > 0 else 1.0))


def run_costs(ordered: Floats) -> Floats:
    """The squared deviation of every run of sorted values, infinite for empty runs: `[…, n]` → `[…, n, n+1]`."""
    n = ordered.shape[-1]
    centred = ordered - ordered.mean(axis=-1, keepdims=True)  # keeps the prefix sums small, so that they do not cancel
    edge = np.zeros((*ordered.shape[:-1], 1))
    sums = np.concatenate([edge, np.cumsum(centred, axis=-1)], axis=-1)  # […, n+1]
    squares = np.concatenate([edge, np.cumsum(centred**2, axis=-1)], axis=-1)
    start, stop = np.arange(n)[:, None], np.arange(n + 1)[None, :]
    length = np.maximum(stop - start, 1)
    # cost(i, j) = Σx² − (Σx)² / (j − i), in place: these are the largest arrays of a selection
    total = sums[..., None, :] - sums[..., :-1, None]  # […, n, n+1]
    total *= total
    total /= length
    cost = squares[..., None, :] - squares[..., :-1, None]
    cost -= total
    np.maximum(cost, 0.0, out=cost)
    np.copyto(cost, np.inf, where=stop <= start)
    return np.asarray(cost)


def best_costs(ordered: Floats, most: int) -> Floats:
    """The optimal cost for 1..`most` clusters: `[…, n]` → `[…, most]`."""
    costs = run_costs(ordered)
    levels = [costs[..., 0, :]]  # one cluster: D[1, j] = cost(0, j)
    for _ in range(1, most):
        levels.append(_reached(levels[-1], costs).min(axis=-2))
    return np.stack([level[..., -1] for level in levels], axis=-1)


def kmeans(values: ArrayLike, clusters: int) -> Clustering:
    """Cut `values` into at most `clusters` clusters of the least squared deviation; equal values stay together.

    The sum over all clusters of Σ (x − mean)² is the least that any clustering has.

    Examples:
        >>> kmeans([0.1, 0.9, 0.2, 1.0], 2).labels.tolist()
        [0, 1, 0, 1]
    """
    values = finite_vector(values, "values")
    if clusters < 1:
        raise InputError(f"k-means needs at least one cluster, got {clusters}")
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    cuts = _optimal_cuts(ordered, min(clusters, np.unique(values).size))
    runs = [ordered[a:b] for a, b in pairwise(cuts)]
    labels = np.empty(values.size, dtype=np.int64)
    labels[order] = np.repeat(np.arange(len(runs)), np.diff(cuts))
    centroids = np.array([run.mean() for run in runs])
    cost = sum(float(np.sum((run - mean) ** 2)) for run, mean in zip(runs, centroids, strict=True))
    return Clustering(labels, centroids, cost)


def _reached(level: Floats, costs: Floats) -> Floats:
    """The cost of one cluster more, by where it starts: `[…, i, j]` has its last run at i..j−1."""
    return np.asarray(level[..., :-1, None] + costs)


def _optimal_cuts(ordered: Floats, clusters: int) -> list[int]:
    costs = run_costs(to_unit(ordered))
    costs[1:][ordered[1:] == ordered[:-1]] = np.inf  # where costs tie by rounding, no run starts among equals
    level, choices = costs[0], []
    for _ in range(1, clusters):
        reached = _reached(level, costs)  # [i, j]
        level = reached.min(axis=0)
        choices.append(reached.argmin(axis=0))
    cuts = [ordered.size]
    for choice in reversed(choices):
        cuts.append(int(choice[cuts[-1]]))
    return [0, *reversed(cuts)]
