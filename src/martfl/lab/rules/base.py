"""What every aggregation rule is given in a round, and what it must answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor

from martfl.selection.strategy import State


class Judge(Protocol):
    """What a buyer can compute with its root data; never with test data."""

    @property
    def labels(self) -> Tensor: ...  # [r] int64

    @property
    def num_classes(self) -> int: ...

    def predict(self, models: Tensor) -> Tensor: ...  # [k, m] flat parameter vectors -> [k, r] predicted classes

    def logits(self, models: Tensor) -> Tensor: ...  # [k, m] -> [k, r, classes]

    def by_word(self, models: Iterable[Tensor], seed: int) -> Iterator[Tensor]: ...  # [w, texts, classes] of each

    def held_words(self) -> np.ndarray | None: ...  # [w] whether its rows hold the word; None where there are no words


@dataclass(frozen=True)
class RoundView:
    """One round as the aggregator sees it."""

    index: int
    model: Tensor  # [m] global parameters before the round
    updates: Tensor  # [n, m] the providers' updates
    own_update: Tensor  # [m] the acquirer's own update from its root data
    sizes: Tensor  # [n] rows per provider
    honest: Tensor  # [n] bool; only the oracle may read it
    judge: Judge
    rng: np.random.Generator  # derived from (seed, round, rule)
    test_judge: Judge | None = None  # a judge over TEST data: given only to explain the published tables


@dataclass(frozen=True)
class Decision:
    """What the rule did with the round."""

    update: Tensor  # [m] what is added to the global model
    weights: np.ndarray  # [n] share of each provider in the aggregate (sum 1, or all 0)
    bought: np.ndarray  # [n] bool: plaintexts acquired; DAC is its mean
    baseline: Tensor | None = None  # [m] the baseline update this round (for baseline correctness)
    baselines: int = 0  # encrypted baselines sent this round (cost)
    note: str = ""
    same_choices: float | None = None  # with sketched scores: share of the providers judged as with exact ones …
    same_purchases: float | None = None  # … and bought and weighed as with exact ones, where equals are chosen by lot


def any_number(providers: int) -> None:
    """The check of a rule that works with any number of providers."""


@dataclass(frozen=True)
class Rule:
    """A named rule: ``init`` makes its (picklable) state, ``step`` turns a round into a decision."""

    name: str
    paper: str
    server_driven: bool  # needs an acquirer with root data: then one participant fewer is a provider
    init: Callable[[], State]
    step: Callable[[State, RoundView], tuple[State, Decision]]
    check: Callable[[int], None] = any_number  # raises InputError for a number of providers it cannot serve
    honest_only: bool = False  # it never looks at attackers' updates, so that these need not be made
