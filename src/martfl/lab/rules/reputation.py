"""What CFFL and RFFL share: reputations that fade, and a threshold relative to those still in."""

from __future__ import annotations

import numpy as np


def positive_shares(values: np.ndarray) -> np.ndarray:
    """Scale so that the positive parts sum to 1; equal shares when nobody has any."""
    total = np.maximum(values, 0.0).sum()
    return values / total if total > 0 else np.full_like(values, 1.0 / values.size)


def above_threshold(reputation: np.ndarray, coefficient: float, members: np.ndarray) -> np.ndarray:
    """[n] bool: members with r_i ≥ coefficient / |R|; equals are kept together in spite of rounding."""
    threshold = coefficient / max(int(members.sum()), 1)
    return members & (reputation >= threshold * (1.0 - 1e-9))
