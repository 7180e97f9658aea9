"""Outlier removal by hierarchical clustering: Algorithm 1 of *martFL* (Li, Liu, Li, Xu; ACM CCS 2023).

Two readings where the paper is silent. The baseline provider's own score is 1 by construction and says nothing about
the others, so it takes no part in the clustering. Scores that all lie within T are gathered whatever the gap statistic
finds among them: T says which differences mean nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from martfl.selection.gap import gap_statistic
from martfl.selection.kmeans import Clustering, Floats, kmeans
from martfl.selection.result import Distribution, Role, Selection


@dataclass(frozen=True)
class Algorithm1:
    """The paper's parameters: T, β and G."""

    threshold: float = 0.05
    candidate_share: float = 0.1
    max_clusters: int = 4

    def __call__(self, scores: Floats, baseline: int | None, rng: np.random.Generator) -> Selection:
        """Decide for checked `scores` [n]."""
        scored = np.flatnonzero(np.arange(scores.size) != baseline)
        roles = np.full(scores.size, Role.BASELINE, dtype=object)
        weights, labels = np.zeros(scores.size), np.full(scores.size, -1)
        centroids, distribution = np.empty(0), Distribution.GATHERED
        if scored.size:
            distribution, clustering = self._cluster(scores[scored], rng)
            centroids, labels[scored] = clustering.centroids, clustering.labels
            roles[scored], raw = _judge(scores[scored], clustering, distribution)
            weights[scored] = raw / raw.sum()
            self._draw_candidates(roles, rng)
        return Selection(
            scores, weights, tuple(Role(role) for role in roles), labels, centroids, distribution, self.threshold
        )

    def _cluster(self, scores: Floats, rng: np.random.Generator) -> tuple[Distribution, Clustering]:
        if np.ptp(scores) <= self.threshold:
            return Distribution.GATHERED, kmeans(scores, 1)
        clusters = gap_statistic(scores, max_clusters=self.max_clusters, rng=rng).clusters
        if clusters == 1:
            return Distribution.SCATTERED, kmeans(scores, 2)
        return Distribution.MULTIPLE, kmeans(scores, clusters)

    def _draw_candidates(self, roles: NDArray[np.object_], rng: np.random.Generator) -> None:
        """With nobody qualified and P1 under half, buy a share β of the rest for a look."""
        if (roles == Role.QUALIFIED).any() or (roles == Role.HIGH_QUALITY).sum() >= roles.size / 2:
            return
        rest = np.flatnonzero(roles == Role.DROPPED)
        wanted = int(np.ceil(self.candidate_share * rest.size))
        roles[rng.choice(rest, size=wanted, replace=False)] = Role.CANDIDATE


def _judge(scores: Floats, clustering: Clustering, distribution: Distribution) -> tuple[NDArray[np.object_], Floats]:
    """Roles and weights before normalisation: 1 in the top cluster, less with distance in the other kept ones."""
    if distribution is Distribution.GATHERED:
        return np.full(scores.size, Role.HIGH_QUALITY, dtype=object), np.ones(scores.size)
    first, best = clustering.labels, clustering.centroids.size - 1
    second = kmeans(scores, 2).labels if best > 1 else first
    top, low = first == best, (first == 0) | (second == 0)
    roles = np.full(scores.size, Role.QUALIFIED, dtype=object)
    roles[top] = Role.HIGH_QUALITY
    roles[low] = Role.DROPPED
    # K[i] = 1 − |s_i − C_best| / max_j |s_j − C_best|
    distances = np.abs(scores - clustering.centroids[best])
    weights = np.where(top, 1.0, 1.0 - distances / distances.max())
    return roles, np.where(low, 0.0, weights)
