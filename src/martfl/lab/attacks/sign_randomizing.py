"""Sign randomising: every coordinate of the update gets a random sign (Bernstein et al., signSGD, 2019)."""

from __future__ import annotations

import torch
from torch import Tensor

from martfl.lab.attacks.base import Attack, CraftView


def _craft(view: CraftView) -> Tensor:
    signs = torch.randint(
        0, 2, view.updates.shape, generator=view.generator, device=view.updates.device, dtype=torch.int8
    )
    return view.updates * (2 * signs - 1)


def sign_randomizing() -> Attack:
    """u' = r ⊙ u with r uniform in {−1, +1}^m."""
    return Attack("sign-randomizing", "Bernstein et al., signSGD with majority vote, ICLR 2019", craft=_craft)
