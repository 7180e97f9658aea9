"""Selection as a buyer lives it: epoch after epoch, learning only what the protocol lets it learn.

A `Strategy` is pure functions over explicit state. In an epoch it may score providers under encryption and buy
updates. Every plaintext that it sees was bought in that same call, at what its seller asks; weights are fixed after
that. The same strategy runs in the lab and in the market: only the `Buyer` that answers it differs. Vectors may be
numpy arrays or torch tensors.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats, Reals
from martfl.selection.result import Selection

Vector = Any
State = Any  # each strategy's own frozen dataclass


class Buyer(Protocol):
    """One epoch from the buyer's side. Every call to `score` and `buy` costs, and is counted."""

    @property
    def providers(self) -> Sequence[str]:
        """Who committed [n]."""

    @property
    def asks(self) -> Floats:
        """What each asks, as a share of the epoch's reward [n]; all bought together at most 1."""

    @property
    def model(self) -> Vector:
        """The global model before the epoch [m]."""

    @property
    def own_update(self) -> Vector:
        """The buyer's own update, trained on the root data [m]."""

    @property
    def score_error(self) -> float:
        """The standard error of a score; 0 where scores are exact."""

    @property
    def strata(self) -> NDArray[np.int64] | None:
        """A stratum of each root row, for classifiers its true class [r]; None where there are none."""

    @property
    def held_words(self) -> NDArray[np.bool_] | None:
        """Which of the task's words the root rows hold [w]; None where its inputs are not made of words."""

    def score(self, baseline: Vector) -> Floats:
        """Cosines of all updates with `baseline` [n], under encryption; NaN for who gave no valid answer."""

    def buy(self, providers: Sequence[int]) -> Mapping[int, Vector]:
        """Buy at the ask; repeatable; who does not deliver is missing from the answer."""

    def goodness(self, models: Sequence[Vector]) -> Floats:
        """How good each model is on every root row, higher is better [k, r]."""

    def logits(self, models: Sequence[Vector]) -> Floats | None:
        """What each model gives every class for every root row [k, r, classes]; None where the task has none."""

    def by_word(self, models: Iterable[Vector], *, seed: int) -> Iterator[Reals]:
        """What each model answers to every word in texts that `seed` draws [w, texts, c], one model after the other."""


class Strategy(Protocol):
    """A way to select over many epochs; a frozen dataclass of its parameters."""

    most_baselines: ClassVar[int]  # that it asks providers for in an epoch

    def start(self) -> State:
        """What it knows before the first epoch."""

    def trade(self, state: State, buyer: Buyer, rng: np.random.Generator) -> tuple[State, Selection]:
        """Score, buy and weigh one epoch's updates; and what is known after it."""

    def pack(self, state: State) -> bytes:
        """The state as bytes."""

    def unpack(self, data: bytes) -> State:
        """What `pack` was given; an error for a memory of another kind or version."""
