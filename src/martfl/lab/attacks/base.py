"""What an attack may touch: the attackers' own data before training, and their own updates after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from martfl.lab.data import Dataset


@dataclass(frozen=True)
class Rows:
    """Rows with labels."""

    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class CraftView:
    """What colluding attackers see in a round: the global models so far and what they trained themselves."""

    index: int
    model: Tensor  # [m] global parameters before the round
    previous: Tensor | None  # [m] global parameters before the round before; None in the first round
    updates: Tensor  # [k, m] what the k attackers trained
    providers: int  # n, attackers included
    generator: torch.Generator  # on the device of the updates, derived from (seed, round)
    seed: int = 0  # of the run: what attackers agree on once derives from it
    honest: Tensor | None = None  # [h, m] what the others hand in: for attackers that know everything
    own: Tensor | None = None  # [m] the acquirer's own update, for the same


Poison = Callable[[Dataset, Rows, np.random.Generator], Rows]
Craft = Callable[[CraftView], Tensor]
Probe = Callable[[Dataset], Rows | None]


@dataclass(frozen=True)
class Attack:
    """An attack by its parts; a part that is None leaves things as they are."""

    name: str
    paper: str
    poison: Poison | None = None  # the attackers' training rows
    craft: Craft | None = None  # their updates [k, m] -> [k, m]
    probe: Probe | None = None  # test rows with the labels the attacker wants: ASR is the share predicted so
    class_share: float = 1.0  # α of the loss α·class + (1 − α)·distance that attackers train with
    trains: bool = True  # whether attackers need to train at all
    aim: Callable[[tuple[int, ...]], Attack] | None = None  # the attack of those who know the root data's classes
