"""Staged: a quiet backdoor that is made to look like a stage of learning, by sellers that are short now and then.

The longer an attacker's update is, the more it is mixed with the honest direction, as it would be if sellers differed
by size alone. And in two rounds of nine the attackers hand in next to nothing, close to the honest direction, so that a
rule that averages lengths takes them for small sellers in between. Nothing of the others is seen: the model's last
step stands for them. A stranger found it against `evidence`, which excused both sides of a stage and averaged lengths.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks.backdoor import quiet_backdoor
from martfl.lab.attacks.base import Attack, CraftView

PAPER = "an attack on the rule evidence, with its code"
PERIOD, SHORT = 9, 2  # rounds, and how many of them are short
TINIEST = 38.0  # −log of the shortest of them
LONGEST = 0.7  # how much of that the longest of them saves


def unit(vectors: Tensor) -> Tensor:
    """Of length 1."""
    return torch.nn.functional.normalize(vectors, dim=-1)


def staged(*, share: float = 0.3, mix: float = 0.4, shortest: float = 1.0) -> Attack:
    """Train on `share` stamped rows; the longest has `mix` of the honest direction, the shortest a length like this."""
    if not 0 <= mix <= 1 or not 0 < shortest <= 1:
        raise InputError(f"staged needs 0 ≤ mix ≤ 1 and 0 < shortest ≤ 1, got {mix} and {shortest}")

    def craft(view: CraftView) -> Tensor:
        trained = view.updates
        mean = trained.mean(dim=0)
        honest = unit(mean if view.previous is None else view.model - view.previous)
        length = trained.norm(dim=1).median()
        place = torch.linspace(0, 1, len(trained), dtype=trained.dtype, device=trained.device)[:, None]
        if view.index % PERIOD < SHORT:
            noise = unit(torch.randn(trained.shape, generator=view.generator, dtype=mean.dtype, device=mean.device))
            spread = (trained - mean).norm(dim=1).mean() / length
            return unit(honest + spread * noise) * torch.exp(-TINIEST * (1 - LONGEST * place))
        lengths: Tensor = length * (shortest + (1 - shortest) * place)
        return lengths * unit((1 - mix * place) * unit(trained) + mix * place * honest)

    return dataclasses.replace(quiet_backdoor(share=share), name="staged", paper=PAPER, craft=craft)
