"""Weights without a game: equal, by size, by cosine, and the reputations of CFFL and RFFL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from martfl.errors import InputError
from martfl.lab.rules.cffl import faded, root_accuracy
from martfl.lab.valuers.base import PaidRound, cosines_with, positive

Known = Mapping[str, float]


@dataclass(frozen=True)
class Equal:
    """Everybody alike."""

    def start(self) -> None:
        """Nothing is kept."""

    def value(self, state: None, paid: PaidRound) -> tuple[None, np.ndarray]:
        """1/k."""
        return None, positive(np.ones(len(paid.names)))


@dataclass(frozen=True)
class Size:
    """By the rows that sellers say they have (McMahan et al., AISTATS 2017)."""

    def start(self) -> None:
        """Nothing is kept."""

    def value(self, state: None, paid: PaidRound) -> tuple[None, np.ndarray]:
        """n_i / Σ n_j."""
        return None, positive(paid.sizes)


@dataclass(frozen=True)
class Cosine:
    """By the cosine with the buyer's own update, as martFL weighs those it keeps (Li et al., CCS 2023)."""

    def start(self) -> None:
        """Nothing is kept."""

    def value(self, state: None, paid: PaidRound) -> tuple[None, np.ndarray]:
        """max(cos, 0)."""
        return None, positive(cosines_with(paid.updates, paid.own))


@dataclass(frozen=True)
class Cffl:
    """CFFL's reputation: accuracy of a seller's own model on the root rows (Lyu et al., 2020)."""

    alpha: float = 5.0

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            raise InputError(f"cffl needs alpha > 0, got {self.alpha}")

    def start(self) -> Known:
        """No reputations."""
        return {}

    def value(self, state: Known, paid: PaidRound) -> tuple[Known, np.ndarray]:
        """c = ½·c + ½·sinh(α·a) with the shares a of all accuracies."""
        if paid.view is None:
            raise InputError("cffl pays by predictions, and no judge is given here")
        right = root_accuracy(paid.view)
        known = np.array([state.get(name, np.nan) for name in paid.names])
        fresh = faded(None, right, self.alpha)
        mixed = faded(np.where(np.isnan(known), fresh, known), right, self.alpha)
        return {**state, **dict(zip(paid.names, mixed.tolist(), strict=True))}, positive(mixed)


@dataclass(frozen=True)
class Rffl:
    """RFFL's reputation: the cosine with the aggregate, averaged over rounds (Xu and Lyu, 2020)."""

    alpha: float = 0.95

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < 1:
            raise InputError(f"rffl needs alpha in [0, 1), got {self.alpha}")

    def start(self) -> Known:
        """No reputations."""
        return {}

    def value(self, state: Known, paid: PaidRound) -> tuple[Known, np.ndarray]:
        """The aggregate is by the reputations so far; r = α·r + (1 − α)·cos(u, aggregate)."""
        weights = positive(np.array([state.get(name, 0.0) for name in paid.names])) if state else positive(paid.sizes)
        mixed = (paid.updates * paid.updates.new_tensor(weights)[:, None]).sum(dim=0)
        agreement = cosines_with(paid.updates, mixed)
        past = np.array([state.get(name, 0.0) for name in paid.names])
        found = positive(self.alpha * past + (1 - self.alpha) * agreement)
        return {**state, **dict(zip(paid.names, found.tolist(), strict=True))}, found
