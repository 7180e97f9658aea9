"""Small steps that several rules share."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from martfl.lab.rules.base import RoundView


def to_numpy(values: Tensor) -> np.ndarray:
    """A float64 copy on the host."""
    return np.asarray(values.detach().to("cpu", torch.float64).numpy())


def shares(values: Tensor | np.ndarray) -> np.ndarray:
    """Non-negative values scaled to sum 1; all zero when there is nothing to share."""
    raw = to_numpy(values) if isinstance(values, Tensor) else np.asarray(values, dtype=np.float64)
    total = raw.sum()
    return raw / total if total > 0 else np.zeros_like(raw)


def mix(updates: Tensor, weights: np.ndarray) -> Tensor:
    """Σ w_i · u_i over the rows with a non-zero weight: a rejected NaN must not spoil the sum."""
    kept = np.flatnonzero(weights)
    if kept.size == 0:
        return torch.zeros_like(updates[0])
    factors = torch.as_tensor(weights[kept], dtype=updates.dtype, device=updates.device)
    return factors @ updates[torch.as_tensor(kept, device=updates.device)]  # [k] @ [k, m] -> [m]


def everyone(view: RoundView) -> np.ndarray:
    """Every provider's plaintext is bought."""
    return np.ones(view.updates.shape[0], dtype=bool)
