"""Framing: attackers that hide among noise of their own, so that the honest ones look like the conspirators.

Whoever measures conspiracy by how much updates have in common can be led to the wrong side: the attackers train on
shifted labels and add noise until they agree with each other less than honest providers do.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks.base import Attack, CraftView, Rows
from martfl.lab.data import Dataset

PAPER = "an attack on rules that take agreement for conspiracy"


def agreement(updates: Tensor) -> float:
    """The mean cosine of two different updates; 1 for a single one."""
    units = updates / updates.norm(dim=1, keepdim=True).clamp(min=torch.finfo(updates.dtype).tiny)
    k = len(units)
    return float(((units.sum(dim=0) ** 2).sum() - (units**2).sum()) / (k * (k - 1))) if k > 1 else 1.0


def framing(*, cosine: float = 0.1, shift: int = 1, keep_length: bool = True) -> Attack:
    """Train on labels y + `shift`; add Gaussian noise until the updates' mean cosine is `cosine`.

    Noise of q times an update's squared length divides cosines by 1 + q. With `keep_length` the update is brought back
    to the length that it was trained to.
    """
    if not 0 < cosine <= 1 or shift < 1:
        raise InputError(f"framing needs 0 < cosine ≤ 1 and shift ≥ 1, got {cosine} and {shift}")

    def poison(dataset: Dataset, rows: Rows, rng: np.random.Generator) -> Rows:
        return Rows(rows.x, np.asarray((rows.y + shift) % dataset.num_classes))

    def craft(view: CraftView) -> Tensor:
        trained = view.updates
        extra = max(0.0, agreement(trained) / cosine - 1.0)  # q
        drawn = torch.randn(trained.shape, generator=view.generator, device=trained.device, dtype=trained.dtype)
        lengths = trained.norm(dim=1, keepdim=True)
        crafted: Tensor = trained + drawn * lengths * math.sqrt(extra / trained.shape[1])
        return crafted / math.sqrt(1.0 + extra) if keep_length else crafted

    return Attack("framing", PAPER, poison=poison, craft=craft)
