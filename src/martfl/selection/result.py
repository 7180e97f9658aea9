"""What a selection decided, and why: everything that a report needs to explain a decision to a provider."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from martfl.selection.kmeans import Floats


class Distribution(StrEnum):
    """The three distributions of scores (paper, Figure 3)."""

    GATHERED = "single gathered"
    SCATTERED = "single scattered"
    MULTIPLE = "several clusters"


class Role(StrEnum):
    """What became of one provider in one epoch."""

    BASELINE = "baseline"
    HIGH_QUALITY = "high quality"
    QUALIFIED = "qualified"
    CANDIDATE = "candidate"
    DROPPED = "dropped"
    SPARED = "spared"
    SILENT = "silent"


@dataclass(frozen=True)
class Selection:
    """One epoch's decision. The roles part the providers: every provider has exactly one."""

    scores: Floats  # [n]
    weights: Floats  # [n]; sums to 1, or is all 0 when the only provider is the baseline
    roles: tuple[Role, ...]  # [n]
    labels: NDArray[np.int64]  # [n]; the provider's cluster, rising with the score; −1 for the baseline
    centroids: Floats  # [clusters], rising
    distribution: Distribution
    threshold: float
    reasons: tuple[str, ...] = ()  # [n] or empty, where the rule has no words of its own

    @property
    def clusters(self) -> int:
        """The number of clusters that the scores were cut into."""
        return self.centroids.size

    @property
    def baseline(self) -> int | None:
        """The provider that this epoch was judged by, if it was one."""
        return next(iter(self._having(Role.BASELINE)), None)

    @property
    def high_quality(self) -> tuple[int, ...]:
        """P1: aggregated at full weight."""
        return self._having(Role.HIGH_QUALITY)

    @property
    def qualified(self) -> tuple[int, ...]:
        """P2: aggregated at a weight that falls with the distance from the best centroid."""
        return self._having(Role.QUALIFIED)

    @property
    def candidates(self) -> tuple[int, ...]:
        """Bought for a look, as a possible next baseline; not aggregated."""
        return self._having(Role.CANDIDATE)

    @property
    def dropped(self) -> tuple[int, ...]:
        """Neither bought nor aggregated."""
        return self._having(Role.DROPPED)

    @property
    def bought(self) -> tuple[int, ...]:
        """Everybody whose plaintext the acquirer gets, the baseline included."""
        return tuple(i for i, role in enumerate(self.roles) if role not in (Role.DROPPED, Role.SPARED, Role.SILENT))

    def reason(self, provider: int) -> str:
        """One sentence for the provider: what was decided, and from which numbers."""
        if self.reasons:
            return self.reasons[provider]
        role, score = self.roles[provider], self.scores[provider]
        best = self.centroids[-1] if self.clusters else float("nan")
        return {
            Role.BASELINE: "bought in advance as this epoch's baseline; paid the flat fee, not aggregated",
            Role.HIGH_QUALITY: self._why_kept(score),
            Role.QUALIFIED: f"score {score:.3f} is above the low group, {abs(score - best):.3f} from the best centroid",
            Role.CANDIDATE: f"score {score:.3f} is in the low group; drawn at random for a look as a possible baseline",
            Role.DROPPED: f"score {score:.3f} is in the low group; the best centroid is {best:.3f}",
            Role.SPARED: "good enough, but not drawn: the buyer's budget was spent on others",
            Role.SILENT: "gave no valid answer to the request for a score, so that it could not be judged",
        }[role]

    def _why_kept(self, score: float) -> str:
        if self.distribution is Distribution.GATHERED:
            return f"score {score:.3f}; all scores lie within {self.threshold:g}, so that nobody stands out"
        return f"score {score:.3f} is in the best of {self.clusters} clusters (centroid {self.centroids[-1]:.3f})"

    def _having(self, role: Role) -> tuple[int, ...]:
        return tuple(i for i, own in enumerate(self.roles) if own is role)
