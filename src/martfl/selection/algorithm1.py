"""Outlier removal by hierarchical clustering: Algorithm 1 of *martFL* (Li, Liu, Li, Xu; ACM CCS 2023).

Two readings where the paper is silent. The baseline provider's own score is 1 by construction and says nothing about
the others, so it takes no part in the clustering. Scores that all lie within T are gathered whatever the gap statistic
finds among them: T says which differences mean nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.selection.gap import gap_statistic
from martfl.selection.kmeans import Clustering, kmeans
from martfl.selection.reasons import Code, Reason, because
from martfl.selection.result import Clusters, Distribution, Selection


@dataclass(frozen=True)
class Algorithm1:
    """The paper's parameters: T, β and G."""

    threshold: float = 0.05
    candidate_share: float = 0.1
    max_clusters: int = 4

    def __call__(self, scores: Floats, baseline: int | None, rng: np.random.Generator) -> Selection:
        """Decide for checked `scores` [n]."""
        scored = np.flatnonzero(np.arange(scores.size) != baseline)
        codes = np.full(scores.size, Code.BASELINE, dtype=object)
        weights, labels = np.zeros(scores.size), np.full(scores.size, -1)
        centroids, distribution = np.empty(0), Distribution.GATHERED
        if scored.size:
            distribution, clustering = self._cluster(scores[scored], rng)
            centroids, labels[scored] = clustering.centroids, clustering.labels
            codes[scored], raw = _judge(scores[scored], clustering, distribution)
            weights[scored] = raw / raw.sum()
            self._draw_candidates(codes, rng)
        clusters = Clusters(labels, centroids, distribution, self.threshold)
        reasons = tuple(_reason(Code(code), float(score), clusters) for code, score in zip(codes, scores, strict=True))
        return Selection(scores, weights, reasons, clusters=clusters)

    def _cluster(self, scores: Floats, rng: np.random.Generator) -> tuple[Distribution, Clustering]:
        if np.ptp(scores) <= self.threshold:
            return Distribution.GATHERED, kmeans(scores, 1)
        clusters = gap_statistic(scores, max_clusters=self.max_clusters, rng=rng).clusters
        if clusters == 1:
            return Distribution.SCATTERED, kmeans(scores, 2)
        return Distribution.MULTIPLE, kmeans(scores, clusters)

    def _draw_candidates(self, codes: NDArray[np.object_], rng: np.random.Generator) -> None:
        """With nobody qualified and P1 under half, buy a share β of the rest for a look."""
        high = np.isin(codes, [Code.GATHERED, Code.TOP_CLUSTER])
        if (codes == Code.KEPT_CLUSTER).any() or high.sum() >= codes.size / 2:
            return
        rest = np.flatnonzero(codes == Code.LOW_CLUSTER)
        wanted = int(np.ceil(self.candidate_share * rest.size))
        codes[rng.choice(rest, size=wanted, replace=False)] = Code.LOOKED_AT


def _judge(scores: Floats, clustering: Clustering, distribution: Distribution) -> tuple[NDArray[np.object_], Floats]:
    """Codes and weights before normalisation: 1 in the top cluster, less with distance in the other kept ones."""
    if distribution is Distribution.GATHERED:
        return np.full(scores.size, Code.GATHERED, dtype=object), np.ones(scores.size)
    first, best = clustering.labels, clustering.centroids.size - 1
    second = kmeans(scores, 2).labels if best > 1 else first
    top, low = first == best, (first == 0) | (second == 0)
    codes = np.full(scores.size, Code.KEPT_CLUSTER, dtype=object)
    codes[top] = Code.TOP_CLUSTER
    codes[low] = Code.LOW_CLUSTER
    # K[i] = 1 − |s_i − C_best| / max_j |s_j − C_best|
    distances = np.abs(scores - clustering.centroids[best])
    weights = np.where(top, 1.0, 1.0 - distances / distances.max())
    return codes, np.where(low, 0.0, weights)


def _reason(code: Code, score: float, clusters: Clusters) -> Reason:
    best = float(clusters.centroids[-1]) if clusters.centroids.size else 0.0
    numbers: dict[Code, dict[str, float]] = {
        Code.BASELINE: {},
        Code.GATHERED: {"score": score, "threshold": clusters.threshold},
        Code.TOP_CLUSTER: {"score": score, "clusters": clusters.centroids.size, "centroid": best},
        Code.KEPT_CLUSTER: {"score": score, "distance": abs(score - best)},
        Code.LOOKED_AT: {"score": score},
        Code.LOW_CLUSTER: {"score": score, "centroid": best},
    }
    return because(code, **numbers[code])
