"""Rescaling: an honest direction at a dishonest length, or the opposite direction with a negative factor."""

from __future__ import annotations

import math

from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks.base import Attack, CraftView


def rescaling(*, factor: float = -10.0) -> Attack:
    """u' = factor · u."""
    if not math.isfinite(factor):
        raise InputError(f"rescaling factor must be finite, got {factor}")

    def craft(view: CraftView) -> Tensor:
        return view.updates * factor

    return Attack("rescaling", "Blanchard et al., Machine learning with adversaries, NeurIPS 2017", craft=craft)
