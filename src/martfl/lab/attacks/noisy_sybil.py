"""Sybil copies with noise: one label-flipping update in many names, each a little different (Fung et al., 2020)."""

from __future__ import annotations

import dataclasses
import math

import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks.base import Attack, CraftView
from martfl.lab.attacks.label_flipping import label_flipping

PAPER = "after Fung et al., The limitations of federated learning in Sybil settings, RAID 2020"


def noisy_sybil(*, noise: float = 0.05, first: int | None = None, second: int | None = None) -> Attack:
    """u' = u_1 + ε with Gaussian ε of expected length `noise`·‖u_1‖, drawn anew for every Sybil."""
    if not (math.isfinite(noise) and noise >= 0):
        raise InputError(f"noisy-sybil noise must be finite and at least 0, got {noise}")

    def craft(view: CraftView) -> Tensor:
        base = view.updates[0]
        drawn = torch.randn(view.updates.shape, generator=view.generator, device=base.device, dtype=base.dtype)
        crafted: Tensor = base + drawn * (noise * base.norm() / math.sqrt(base.numel()))
        return crafted

    flipping = label_flipping(first=first, second=second)
    return dataclasses.replace(flipping, name="noisy-sybil", paper=PAPER, craft=craft)
