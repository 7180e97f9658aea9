"""Small steps that several rules share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.rules.base import RoundView

# Columns handled at once: bounds the memory of float64 copies and sorts, and keeps a block in a processor's cache.
COLUMNS = {"cpu": 1 << 15}
COLUMNS_ELSEWHERE = 1 << 20  # an accelerator wants few, large steps


def nothing() -> None:
    """The state of a rule that keeps none."""


def to_numpy(values: Tensor) -> np.ndarray:
    """A float64 copy on the host."""
    return np.asarray(values.detach().to("cpu", torch.float64).numpy())


def shares(values: Tensor | np.ndarray) -> np.ndarray:
    """Non-negative values scaled to sum 1; all zero when there is nothing to share."""
    raw = to_numpy(values) if isinstance(values, Tensor) else np.asarray(values, dtype=np.float64)
    total = raw.sum()
    return raw / total if total > 0 else np.zeros_like(raw)


def mix(updates: Tensor, factors: np.ndarray) -> Tensor:
    """Σ f_i · u_i over the rows with a non-zero factor: a rejected NaN must not spoil the sum."""
    kept = np.flatnonzero(factors)
    total = torch.zeros_like(updates[0])
    for row in kept:  # row by row: no copy of the kept rows, and no reduced-precision matrix product
        total.add_(updates[int(row)], alpha=float(factors[row]))
    return total


def everyone(view: RoundView) -> np.ndarray:
    """Every provider's plaintext is bought."""
    return np.ones(view.updates.shape[0], dtype=bool)


def blocks(updates: Tensor) -> Iterator[Tensor]:
    """The matrix in blocks of columns."""
    yield from torch.split(updates, COLUMNS.get(updates.device.type, COLUMNS_ELSEWHERE), dim=1)


def finite_rows(updates: Tensor) -> np.ndarray:
    """[n] bool: rows without NaN or infinity; squares of float32 cannot overflow float64."""
    return np.asarray(np.isfinite(norms(updates)))


def centred_gram(updates: Tensor) -> Tensor:
    """Ū·Ūᵀ of the rows less their mean, accumulated in float64, without an n × n × m intermediate."""
    n = updates.shape[0]
    total = torch.zeros(n, n, dtype=torch.float64, device=updates.device)
    for block in blocks(updates):
        wide = block.double()
        wide = wide - wide.mean(dim=0)  # what all rows share would only cancel later, with a loss of digits
        total += wide @ wide.T
    return total


def dots(updates: Tensor, reference: Tensor) -> np.ndarray:
    """[n] u_i · v in float64."""
    total = torch.zeros(updates.shape[0], dtype=torch.float64, device=updates.device)
    for block, part in zip(blocks(updates), blocks(reference[None]), strict=True):
        total += block.double() @ part[0].double()
    return to_numpy(total)


def norms(updates: Tensor) -> np.ndarray:
    """[n] Euclidean lengths in float64."""
    total = torch.zeros(updates.shape[0], dtype=torch.float64, device=updates.device)
    for block in blocks(updates):
        total += block.double().square_().sum(dim=1) if block.dtype != torch.float64 else block.square().sum(dim=1)
    return np.asarray(np.sqrt(to_numpy(total)))


def cosines(updates: Tensor, reference: Tensor, *, lengths: np.ndarray | None = None) -> np.ndarray:
    """[n] cos(u_i, v); an all-zero vector points nowhere and gets 0. Who knows the rows' lengths gives them."""
    lengths = (norms(updates) if lengths is None else lengths) * norms(reference[None])[0]
    products = dots(updates, reference)
    scores = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return np.asarray(np.clip(scores, -1.0, 1.0))


def cosine_matrix(updates: Tensor) -> np.ndarray:
    """[n, n] cosines of all pairs; an all-zero row has 0 with everybody, and 1 with itself."""
    inner = torch.zeros(len(updates), len(updates), dtype=torch.float64, device=updates.device)
    for block in blocks(updates):
        wide = block.double()
        inner += wide @ wide.T
    gram = to_numpy(inner)
    lengths = np.sqrt(np.maximum(np.diag(gram), 0.0))
    scale = np.outer(lengths, lengths)
    found = np.divide(gram, scale, out=np.zeros_like(gram), where=scale > 0)
    np.fill_diagonal(found, 1.0)
    return np.asarray(np.clip(found, -1.0, 1.0))


def count_of(share: float, providers: int) -> int:
    """⌊share · n⌋, safe against 0.3 · 10 = 2.999…"""
    return int(share * providers + 1e-9)


def check_share(name: str, value: float, *, below: float = 1.0) -> None:
    """Refuse a share outside [0, below)."""
    if not 0.0 <= value < below:
        raise InputError(f"{name} must lie in [0, {below:g}), got {value}")
