"""PoisonedFL (Xie, Fang, Gong, CVPR 2025): pull the model in one random direction, round after round.

Honest training cancels what changes from round to round; a push of constant sign adds up. The paper's attackers
remember what they sent last and test over many rounds whether it shows; these look at the last global step alone and
need no memory.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks.base import Attack, CraftView
from martfl.lab.randomness import device_stream

PAPER = "Xie, Fang, Gong, Model poisoning attacks to federated learning via multi-round consistency, CVPR 2025"
SURE = 2.326  # deviations of a binomial that chance exceeds in one of a hundred cases


def steady_signs(view: CraftView) -> Tensor:
    """[m] s uniform in {−1, +1}^m, the same in every round of a run."""
    generator = device_stream(view.model.device, view.seed, "poisonedfl")
    bits = torch.randint(0, 2, view.model.shape, generator=generator, device=view.model.device, dtype=torch.int8)
    return (2 * bits - 1).to(view.model.dtype)


def shows(step: Tensor, signs: Tensor) -> bool:
    """Whether the last global step agrees with s in more coordinates than chance would have it."""
    moved = int((step != 0).sum())
    agreeing = int((step * signs > 0).sum())
    return agreeing > moved / 2 + SURE * math.sqrt(moved) / 2


def poisonedfl(*, scale: float = 8.0, quiet: float = 0.7, first: float = 1e-3) -> Attack:
    """All attackers hand in k ⊙ s with ‖k‖ = c·‖g‖, g the last global step; no data, no training.

    k ∝ |g − ‖g‖·s/√m| (coordinates that the others move against s get more); c = `scale` while the last step shows the
    attack, `quiet`·`scale` while it does not; in the first round every coordinate of k is `first`.
    """
    if not (scale > 0 and 0 < quiet <= 1 and first > 0):
        raise InputError(f"poisonedfl needs scale > 0, 0 < quiet ≤ 1 and first > 0, got {scale}, {quiet}, {first}")

    def craft(view: CraftView) -> Tensor:
        signs = steady_signs(view)
        if view.previous is None or not bool((step := view.model - view.previous).any()):
            return (first * signs).expand_as(view.updates).clone()
        length = step.norm()
        sizes = (step - length / math.sqrt(step.numel()) * signs).abs()
        factor = scale if shows(step, signs) else quiet * scale
        crafted: Tensor = factor * length / sizes.norm() * sizes * signs  # [m]
        return crafted.expand_as(view.updates).clone()

    return Attack("poisonedfl", PAPER, craft=craft, trains=False)
