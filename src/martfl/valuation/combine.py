"""Shares as weights of aggregation: by value and by length, since the contract multiplies the update as it was sold.

    weight_i ∝ share_i · trust_i · min(1, bound / length_i) · chosen_i^(1 − B)

A longer update than usual is multiplied by less, and so paid less: scaling up never pays. A shorter one is not scaled
up: its seller decides how much of the model it moves, within its share. Where the differences between sellers are not
believed (small B), the weights that the selection has chosen count instead.
"""

import numpy as np

from martfl.arrays import Floats
from martfl.valuation.common import median

LONGEST = 1.5  # times the usual length


def usual_length(lengths: Floats, shares: Floats) -> float:
    """The median, each by its share: wallets are not counted, only what they hold."""
    return median(lengths, shares)


def combine(
    shares: Floats,
    lengths: Floats,
    *,
    trust: Floats | None = None,
    chosen: Floats | None = None,
    clarity: float = 1.0,
) -> Floats:
    """[k] weights that sum to 1, or all 0 where nobody has any share.

    weight_i ∝ share_i · trust_i · min(1, bound / length_i) · chosen_i^(1 − clarity)

    Examples:
        >>> import numpy as np
        >>> combine(np.array([0.5, 0.5]), np.array([1.0, 3.0])).round(3).tolist()
        [0.667, 0.333]
    """
    raw = shares * np.minimum(1.0, LONGEST * usual_length(lengths, shares) / lengths) if len(shares) else shares
    raw = raw if trust is None else raw * trust
    raw = raw if chosen is None else raw * chosen ** (1.0 - clarity)
    return np.asarray(raw / raw.sum() if raw.any() else np.zeros_like(raw))
