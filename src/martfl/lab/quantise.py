"""The settlement's integer arithmetic as an option of a run: what the market would aggregate, with its rounding.

    q_i = clip(round(u_i / δ), ±(2^(b−1) − 1)),   Σ k_i = 2^16,   W^t = W^{t−1} + Σ k_i q_i  at scale δ / 2^16.

The scale and the integer weights are the settlement's own; the sums run on the device.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.settlement import WEIGHT_TOTAL, FixedPoint, SettlementError, integer_weights

BITS, SCALE = 16, 2.0**-16  # updates up to ±0.5 in steps of 1.5e-5


def make_quantiser(values: dict[str, float]) -> FixedPoint | None:
    """None for an empty table."""
    if not values:
        return None
    try:
        return FixedPoint(bits=int(values.get("bits", BITS)), scale=float(values.get("scale", SCALE)))
    except SettlementError as error:
        raise InputError(f"quantise: {error}") from None


def to_integers(values: Tensor, fixed: FixedPoint) -> Tensor:
    """round(u / δ), clipped to b bits; exact in float64."""
    return torch.round(values.double() / fixed.scale).clamp(-fixed.bound, fixed.bound).to(torch.int64)


def start_integers(model: Tensor, fixed: FixedPoint) -> Tensor:
    """W^0 at scale δ / 2^16."""
    return torch.round(model.double() * (WEIGHT_TOTAL / fixed.scale)).to(torch.int64)


def to_floats(integers: Tensor, fixed: FixedPoint) -> Tensor:
    """The model that the integers stand for."""
    return (integers.double() * (fixed.scale / WEIGHT_TOTAL)).float()


def integer_change(update: Tensor, updates: Tensor, weights: np.ndarray, fixed: FixedPoint) -> Tensor:
    """Σ k_i q_i where the rule is a weighted sum; a rule of another form has its own result rounded as one update."""
    kept = np.flatnonzero(weights)
    if len(kept) and _is_sum(update, updates, weights, kept):
        units = integer_weights([float(weight) for weight in weights])
        total = torch.zeros_like(update, dtype=torch.int64)
        for row in kept:
            total += units[row] * to_integers(updates[int(row)], fixed)
        return total
    return WEIGHT_TOTAL * to_integers(update, fixed)


def _is_sum(update: Tensor, updates: Tensor, weights: np.ndarray, kept: np.ndarray) -> bool:
    rows = torch.as_tensor(kept, device=updates.device)
    mixed = torch.as_tensor(weights[kept], dtype=updates.dtype, device=updates.device) @ updates[rows]
    gap, norm = torch.linalg.vector_norm(mixed - update), torch.linalg.vector_norm(update)
    return float(gap) <= 1e-3 * float(norm)
