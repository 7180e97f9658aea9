"""Sybil: one attacker appears as many and hands in one label-flipping update in all their names (Fung et al., 2020)."""

from __future__ import annotations

import dataclasses

from torch import Tensor

from martfl.lab.attacks.base import Attack, CraftView
from martfl.lab.attacks.label_flipping import label_flipping


def _craft(view: CraftView) -> Tensor:
    return view.updates[:1].expand_as(view.updates).clone()


def sybil(*, first: int | None = None, second: int | None = None) -> Attack:
    """Every Sybil hands in the first one's update."""
    flipping = label_flipping(first=first, second=second)
    paper = "Fung et al., The limitations of federated learning in Sybil settings, RAID 2020"
    return dataclasses.replace(flipping, name="sybil", paper=paper, craft=_craft)
