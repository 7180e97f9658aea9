"""A Little Is Enough (Baruch, Baruch, Goldberg, NeurIPS 2019): just inside the spread of the honest updates."""

from __future__ import annotations

import math
from statistics import NormalDist

from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks.base import Attack, CraftView

PAPER = "Baruch, Baruch, Goldberg, A little is enough: circumventing defenses for distributed learning, NeurIPS 2019"


def hidden_deviations(providers: int, attackers: int) -> float:
    """z with Φ(z) = (n − k − s) / (n − k), s = ⌊n/2 + 1⌋ − k: so many honest updates lie farther out that, with them,
    the attackers are a majority. Attackers who are a majority already need one honest update farther out than they are.
    """
    honest = providers - attackers
    supporters = max(1, math.floor(providers / 2 + 1) - attackers)
    share = (honest - supporters) / honest if honest else 0.0
    return max(0.0, NormalDist().inv_cdf(share)) if share > 0 else 0.0


def alie(*, z: float | None = None) -> Attack:
    """All attackers hand in μ − z·σ, coordinate by coordinate, of their own honestly trained updates."""
    if z is not None and not (math.isfinite(z) and z >= 0):
        raise InputError(f"alie needs a finite z ≥ 0, got {z}")

    def craft(view: CraftView) -> Tensor:
        deviations = hidden_deviations(view.providers, len(view.updates)) if z is None else z
        crafted = view.updates.mean(dim=0) - deviations * view.updates.std(dim=0, correction=0)
        return crafted.expand_as(view.updates).clone()

    return Attack("alie", PAPER, craft=craft)
