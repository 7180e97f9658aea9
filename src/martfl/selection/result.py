"""What a selection decided, and why: who is kept, at which weight, and a reason for everybody."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.selection.reasons import Code, Reason, Role
from martfl.selection.words import sentence


class Distribution(StrEnum):
    """The three distributions of scores (paper, Figure 3)."""

    GATHERED = "single gathered"
    SCATTERED = "single scattered"
    MULTIPLE = "several clusters"


@dataclass(frozen=True)
class Clusters:
    """How the paper's rule cut the scores."""

    labels: NDArray[np.int64]  # [n]; the provider's cluster, rising with the score; −1 for who was not clustered
    centroids: Floats  # [clusters], rising
    distribution: Distribution
    threshold: float


@dataclass(frozen=True)
class Selection:
    """One epoch's decision. Every provider has exactly one reason, and by it one role.

    Examples:
        >>> reasons = (Reason(Code.BASELINE), Reason(Code.KEPT, {'evidence': 0.0}), Reason(Code.SILENT))
        >>> chosen = Selection(np.array([1.0, 0.9, np.nan]), np.array([0.0, 1.0, 0.0]), reasons, bought=(0, 1))
        >>> chosen.kept.tolist(), chosen.baseline, chosen.having(Role.SILENT)
        ([False, True, False], 0, (2,))
        >>> chosen.reason(2)
        'gave no valid answer to the request for a score, so that it could not be judged'
    """

    scores: Floats  # [n] cosines with the first baseline; NaN for who gave no valid answer
    weights: Floats  # [n]; sums to 1, or is all 0 where nobody is aggregated
    reasons: tuple[Reason, ...]  # [n]
    bought: tuple[int, ...] = ()  # who was bought and delivered
    clusters: Clusters | None = None

    @property
    def roles(self) -> tuple[Role, ...]:
        """[n]."""
        return tuple(reason.role for reason in self.reasons)

    @property
    def kept(self) -> NDArray[np.bool_]:
        """[n] who may be aggregated; how much of it is the weights' business."""
        return np.array([role in (Role.HIGH_QUALITY, Role.QUALIFIED) for role in self.roles], dtype=bool)

    @property
    def baseline(self) -> int | None:
        """The provider that this epoch was judged by, if it was one."""
        return next((i for i, reason in enumerate(self.reasons) if reason.code is Code.BASELINE), None)

    def having(self, role: Role) -> tuple[int, ...]:
        """Who has this role."""
        return tuple(i for i, own in enumerate(self.roles) if own is role)

    def reason(self, provider: int) -> str:
        """One sentence for the provider."""
        return sentence(self.reasons[provider])


def nobody(reasons: tuple[Reason, ...]) -> Selection:
    """The selection of an epoch in which nobody is aggregated."""
    return Selection(np.full(len(reasons), np.nan), np.zeros(len(reasons)), reasons)
