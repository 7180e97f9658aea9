"""Min-Max (Shejwalkar, Houmansadr, NDSS 2021): as far from the mean as the honest updates are from one another."""

from __future__ import annotations

import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks.base import Attack, CraftView

PAPER = "Shejwalkar, Houmansadr, Manipulating the Byzantine, NDSS 2021"
DIRECTIONS = ("deviation", "sign", "unit")


def direction_of(updates: Tensor, mean: Tensor, name: str) -> Tensor:
    """[m] ∇p of the paper: against the coordinates' deviations, the mean's signs, or the mean itself."""
    if name == "deviation":
        return -updates.std(dim=0, correction=0)
    return -mean.sign() if name == "sign" else -mean / mean.norm().clamp(min=torch.finfo(mean.dtype).tiny)


def largest_step(offsets: Tensor, direction: Tensor, reach: Tensor) -> Tensor:
    """The largest γ with ‖d_i + γ·p‖ ≤ D for every row d_i.

    Row by row the bound is the larger root of a·γ² + 2·b·γ + c = 0 with a = ‖p‖², b = d_i·p, c = ‖d_i‖² − D² ≤ 0: the
    mean of a set is never farther from a member than the members are from one another.
    """
    a = direction.square().sum()
    if not a > 0:
        return torch.zeros_like(a)
    b = (offsets * direction).sum(dim=1)  # [k]
    c = (offsets.square().sum(dim=1) - reach.square()).clamp(max=0)  # [k]
    return ((-b + (b.square() - a * c).sqrt()) / a).min().clamp(min=0)


def min_max(*, direction: str = "deviation") -> Attack:
    """All attackers hand in ū + γ·∇p, with the largest γ that max_i ‖ū + γ·∇p − u_i‖ ≤ max_ij ‖u_i − u_j‖ allows.

    The attackers' own honestly trained updates stand for the population. One attacker alone knows no spread, so that
    it hands in its update as it is.
    """
    if direction not in DIRECTIONS:
        raise InputError(f"min-max direction must be one of {', '.join(DIRECTIONS)}, got {direction!r}")

    def craft(view: CraftView) -> Tensor:
        mean = view.updates.mean(dim=0)
        towards = direction_of(view.updates, mean, direction)
        reach = torch.cdist(view.updates, view.updates, compute_mode="donot_use_mm_for_euclid_dist").max()
        step = largest_step(mean - view.updates, towards, reach)
        return (mean + step * towards).expand_as(view.updates).clone()

    return Attack("min-max", PAPER, craft=craft)
