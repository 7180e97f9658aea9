"""What a way to pay is given in a round, and what it must answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from martfl.lab.rules.base import RoundView
from martfl.lab.rules.shared import to_numpy
from martfl.valuation import Focus

State = Any  # each valuer's own


@dataclass(frozen=True)
class PaidRound:
    """The updates of a round that are to be paid."""

    names: tuple[str, ...]  # [k]
    updates: Tensor  # [k, m]
    model: Tensor  # [m] before the round
    own: Tensor  # [m] the buyer's own update
    sizes: np.ndarray  # [k] rows, as the sellers say: only `size` believes them
    goodness: Callable[[Sequence[Tensor]], np.ndarray]  # [j] models -> [j, r] on root rows
    rng: np.random.Generator
    even: bool = False  # whether the root rows stand for all classes alike
    focus: Focus | None = None  # the part of a model that the root rows can see
    view: RoundView | None = None  # the whole round, for rules of the lab that are paid by

    @cached_property
    def base(self) -> float:
        """How good the model is as it stands."""
        return float(self.goodness([self.model]).mean())

    def worth(self, groups: Sequence[Sequence[int]]) -> np.ndarray:
        """[groups] how good the model is after the mean of each group's updates; `base` for an empty one."""
        models = [self.model + self.updates[list(group)].mean(dim=0) for group in groups if len(group)]
        found = iter(self.goodness(models).mean(axis=1) if models else ())
        return np.array([next(found) if len(group) else self.base for group in groups])


class Valuer(Protocol):
    """A way to pay; a frozen dataclass of its parameters."""

    def start(self) -> State:
        """What it knows before the first round."""

    def value(self, state: State, paid: PaidRound) -> tuple[State, np.ndarray]:
        """What it knows after a round, and the weights [k], which sum to 1."""


def positive(values: np.ndarray) -> np.ndarray:
    """The positive parts scaled to sum 1; equal shares where nobody has any."""
    cut = np.maximum(np.nan_to_num(values), 0.0)
    return np.asarray(cut / cut.sum() if cut.sum() > 0 else np.full(len(cut), 1.0 / max(len(cut), 1)))


def cosines_with(updates: Tensor, reference: Tensor) -> np.ndarray:
    """[k] cosines; 0 where one of them is zero."""
    wide, other = updates.double(), reference.double()
    lengths = torch.linalg.vector_norm(wide, dim=1) * torch.linalg.vector_norm(other)
    return to_numpy(torch.where(lengths > 0, (wide @ other) / lengths.clamp_min(1e-300), 0.0))
