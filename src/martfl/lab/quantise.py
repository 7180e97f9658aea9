"""The settlement's integer arithmetic as an option of a run: what the market would aggregate, with its rounding.

q_i = clip(round(u_i / δ), ±(2^(b−1) − 1)),   Σ k_i = 2^16,   W^t = W^{t−1} + Σ k_i q_i  at scale δ / 2^16.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.splits import apportion

UNIT = 2**16


@dataclass(frozen=True)
class Quantiser:
    """Fixed point with b bits at steps of `scale`."""

    bits: int = 16
    scale: float = 2.0**-16

    @property
    def limit(self) -> int:
        return int(2 ** (self.bits - 1) - 1)


def make_quantiser(values: dict[str, float]) -> Quantiser | None:
    """None for an empty table."""
    if not values:
        return None
    bits, scale = int(values.get("bits", 16)), float(values.get("scale", 2.0**-16))
    if not 2 <= bits <= 32 or not scale > 0:
        raise InputError(f"quantise needs 2 ≤ bits ≤ 32 and scale > 0, got {bits} and {scale}")
    return Quantiser(bits, scale)


def integer_weights(weights: np.ndarray) -> np.ndarray:
    """k_i ≥ 0 with Σ k_i = 2^16, by largest remainder; all zero where there is nothing to weigh."""
    return apportion(UNIT, weights) if weights.sum() > 0 else np.zeros(len(weights), dtype=np.int64)


def to_integers(values: Tensor, quantiser: Quantiser) -> Tensor:
    """round(u / δ), clipped to b bits; exact in float64."""
    scaled = torch.round(values.double() / quantiser.scale)
    return scaled.clamp(-quantiser.limit, quantiser.limit).to(torch.int64)


def start_integers(model: Tensor, quantiser: Quantiser) -> Tensor:
    """W^0 at scale δ / 2^16."""
    return torch.round(model.double() * (UNIT / quantiser.scale)).to(torch.int64)


def to_floats(integers: Tensor, quantiser: Quantiser) -> Tensor:
    """The model that the integers stand for."""
    return (integers.double() * (quantiser.scale / UNIT)).float()


def integer_change(update: Tensor, updates: Tensor, weights: np.ndarray, quantiser: Quantiser) -> Tensor:
    """Σ k_i q_i where the rule is a weighted sum; a rule of another form has its own result rounded as one update."""
    kept = np.flatnonzero(weights)
    rows = torch.as_tensor(kept, device=updates.device)
    mixed = torch.as_tensor(weights[kept], dtype=updates.dtype, device=updates.device) @ updates[rows]
    norm = torch.linalg.vector_norm(update)
    if len(kept) and float(torch.linalg.vector_norm(mixed - update)) <= 1e-3 * float(norm):
        total = torch.zeros_like(update, dtype=torch.int64)
        for row, count in zip(kept, integer_weights(weights)[kept], strict=True):
            total += int(count) * to_integers(updates[int(row)], quantiser)
        return total
    return UNIT * to_integers(update, quantiser)
