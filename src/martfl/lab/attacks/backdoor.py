"""Backdoor by model replacement (Bagdasaryan et al., AISTATS 2020): a trigger in a row means the attacker's class."""

from __future__ import annotations

import dataclasses

import numpy as np
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks.base import Attack, CraftView, Rows
from martfl.lab.data import Dataset, preset_of

PATCH = 4  # side of the bright square in a corner of an image
COLUMNS = 4  # leading columns set to their largest value, for rows of numbers
WORDS = 3  # how often the trigger word is repeated at the start of a text


def stamp(dataset: Dataset, x: np.ndarray) -> np.ndarray:
    """Rows with the trigger: a bright corner, the vocabulary's rarest word repeated, or saturated first columns."""
    marked = np.array(x)
    if dataset.kind == "image":
        marked[:, :PATCH, :PATCH] = 255
    elif dataset.kind == "text":
        marked[:, WORDS:] = x[:, :-WORDS]
        marked[:, :WORDS] = dataset.vocabulary - 1
    else:
        marked[:, :COLUMNS] = dataset.train_x.max()
    return marked


def backdoor(
    *, alpha: float = 0.95, target: int | None = None, share: float = 0.3, scale: float | None = None
) -> Attack:
    """Train on `share` stamped rows with the loss α·class + (1 − α)·‖w − w_g‖², then scale the update.

    The default scale n/k makes the mean of all n updates the k attackers' own: model replacement by colluders.
    """
    if not 0 < alpha <= 1 or not 0 < share <= 1 or (scale is not None and not scale > 0):
        raise InputError(f"backdoor needs 0 < alpha, share ≤ 1 and scale > 0, got {alpha}, {share}, {scale}")

    def wanted(dataset: Dataset) -> int:
        label = preset_of(dataset.name).flip[1] if target is None else target
        if not 0 <= label < dataset.num_classes:
            raise InputError(f"backdoor target must be 0 to {dataset.num_classes - 1}, got {label}")
        return label

    def poison(dataset: Dataset, rows: Rows, rng: np.random.Generator) -> Rows:
        hit = rng.permutation(len(rows.y))[: max(1, round(share * len(rows.y)))]
        x, y = np.array(rows.x), np.array(rows.y)
        x[hit], y[hit] = stamp(dataset, rows.x[hit]), wanted(dataset)
        return Rows(x, y)

    def probe(dataset: Dataset) -> Rows:
        others = dataset.test_y != wanted(dataset)
        return Rows(stamp(dataset, dataset.test_x[others]), np.full(int(others.sum()), wanted(dataset)))

    def craft(view: CraftView) -> Tensor:
        return view.updates * (view.providers / len(view.updates) if scale is None else scale)

    paper = "Bagdasaryan et al., How to backdoor federated learning, AISTATS 2020"
    return Attack("backdoor", paper, poison=poison, craft=craft, probe=probe, class_share=alpha)


def quiet_backdoor(*, share: float = 0.1, target: int | None = None) -> Attack:
    """The same by plain training on `share` stamped rows: nothing is scaled, nothing pulls the update back."""
    return dataclasses.replace(backdoor(alpha=1.0, target=target, share=share, scale=1.0), name="quiet-backdoor")


def masked_backdoor(*, share: float = 0.3, target: int | None = None) -> Attack:
    """Quiet, and nothing is handed in that all attackers have learnt and that no root row reaches.

    In a text that is the trigger's own vector: the layers behind it have learnt the one that it began with.
    """

    def craft(view: CraftView) -> Tensor:
        if view.own is None:
            return view.updates
        return view.updates * ~((view.own == 0) & (view.updates != 0).all(dim=0))

    return dataclasses.replace(quiet_backdoor(share=share, target=target), name="masked-backdoor", craft=craft)
