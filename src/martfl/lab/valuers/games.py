"""Values of the game in which a group of sellers is worth what the mean of its updates does on the root rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from martfl.errors import InputError
from martfl.lab.valuers.base import PaidRound, positive

Sums = Mapping[str, float]


def _add(state: Sums, paid: PaidRound, values: np.ndarray) -> tuple[Sums, np.ndarray]:
    """Values are added up over rounds; the weights are by the sums."""
    sums = np.array([state.get(name, 0.0) for name in paid.names]) + values
    return {**state, **dict(zip(paid.names, sums.tolist(), strict=True))}, positive(sums)


@dataclass(frozen=True)
class LeaveOneOut:
    """What the model loses without a seller's update, added up over rounds."""

    def start(self) -> Sums:
        """Nothing was added."""
        return {}

    def value(self, state: Sums, paid: PaidRound) -> tuple[Sums, np.ndarray]:
        """v(N) − v(N without i)."""
        everyone = list(range(len(paid.names)))
        found = paid.worth([everyone, *([j for j in everyone if j != i] for i in everyone)])
        return _add(state, paid, found[0] - found[1:])


@dataclass(frozen=True)
class GtgShapley:
    """Shapley values by guided truncated gradients (Liu, Chen, Zhao, Yu, Liu, Liu; ACM TIST 2022).

    A round in which the model does not move is passed over; a permutation ends where nothing is left to gain; every
    seller comes first equally often.
    """

    permutations: int = 1  # for each seller that comes first
    round_least: float = 1e-3  # gain of a round that is worth sharing
    within_least: float = 1e-3  # gain that is still to come, at which a permutation goes on

    def __post_init__(self) -> None:
        if self.permutations < 1 or self.round_least < 0 or self.within_least < 0:
            got = f"{self.permutations}, {self.round_least} and {self.within_least}"
            raise InputError(f"gtg-shapley needs permutations ≥ 1 and limits ≥ 0, got {got}")

    def start(self) -> Sums:
        """Nothing was added."""
        return {}

    def value(self, state: Sums, paid: PaidRound) -> tuple[Sums, np.ndarray]:
        """The mean of marginal gains over permutations."""
        k = len(paid.names)
        whole = float(paid.worth([range(k)])[0])
        values = np.zeros(k)
        if abs(whole - paid.base) > self.round_least:
            orders = [self._order(first, k, paid.rng) for first in range(k) for _ in range(self.permutations)]
            for order in orders:
                values[order] += self._marginals(paid, order, whole) / len(orders)
        return _add(state, paid, values)

    def _order(self, first: int, k: int, rng: np.random.Generator) -> np.ndarray:
        others = np.array([i for i in range(k) if i != first], dtype=np.int64)
        return np.concatenate([[first], rng.permutation(others)])

    def _marginals(self, paid: PaidRound, order: np.ndarray, whole: float) -> np.ndarray:
        """Groups are judged a few at a time, until the rest has nothing to gain."""
        before, found = paid.base, np.zeros(len(order))
        for begin in range(0, len(order), 4):
            ends = range(begin + 1, min(begin + 4, len(order)) + 1)
            values = paid.worth([order[:end].tolist() for end in ends])
            for place, value in zip(ends, values, strict=True):
                found[place - 1], before = value - before, float(value)
            if abs(whole - before) < self.within_least:
                break
        return found
