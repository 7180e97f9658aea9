"""A buyer small enough to reason about: a linear classifier, updates in the clear, a record of what was asked."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from martfl.selection import cosine_scores

sys.path.insert(0, str(Path(__file__).parent))  # `at_work`

FEATURES, CLASSES, DEAD = 120, 4, 60  # the last DEAD features are zero in every row: what they learn changes nothing
ROWS = 240


@dataclass
class FakeBuyer:
    """`martfl.selection.Buyer` over arrays."""

    updates: np.ndarray  # [n, m]
    rows: np.ndarray  # [r, features]
    labels: np.ndarray
    model: np.ndarray
    own_update: np.ndarray
    providers: list[str]
    silent: frozenset[int] = frozenset()
    missing: frozenset[int] = frozenset()  # committed and scored, but does not deliver
    classes: int = CLASSES
    scored: list[np.ndarray] = field(default_factory=list)
    bought: list[int] = field(default_factory=list)

    def score(self, baseline: np.ndarray) -> np.ndarray:
        self.scored.append(baseline)
        scores = cosine_scores(self.updates, baseline)
        return np.where(np.isin(np.arange(len(scores)), list(self.silent)), np.nan, scores)

    def buy(self, providers: Any) -> dict[int, np.ndarray]:
        able = [int(i) for i in providers if i not in self.missing | self.silent]
        self.bought += [i for i in able if i not in self.bought]
        return {i: self.updates[i] for i in able}

    def logits(self, models: Any) -> np.ndarray:
        return np.stack([self.rows @ model.reshape(FEATURES, CLASSES) for model in models])

    def deliver(self, selection: Any) -> dict[int, np.ndarray]:
        """What arrives after a decision."""
        wanted = [*selection.bought, *self.bought]
        return {i: self.updates[i] for i in wanted if i not in self.missing | self.silent}


@dataclass(frozen=True)
class World:
    """Rows of four classes around four prototypes, and the direction in parameters that tells them apart."""

    prototypes: np.ndarray  # [classes, features]

    @property
    def truth(self) -> np.ndarray:
        """[m] of length 1."""
        flat = (self.prototypes - self.prototypes.mean(axis=0)).T.ravel()
        return flat / np.linalg.norm(flat)

    def only(self, classes: tuple[int, ...]) -> np.ndarray:
        """[m] of length 1: what a provider learns that knows only these classes, the others pushed down."""
        columns = np.full((FEATURES, CLASSES), 0.0)
        columns[:, list(classes)] = self.truth.reshape(FEATURES, CLASSES)[:, list(classes)]
        others = [c for c in range(CLASSES) if c not in classes]
        columns[:, others] = -0.5 * self.prototypes[list(classes)].mean(axis=0)[:, None]
        return columns.ravel() / np.linalg.norm(columns)

    @property
    def dead(self) -> np.ndarray:
        """[m] of length 1: moves only parameters that no row uses."""
        columns = np.zeros((FEATURES, CLASSES))
        columns[-DEAD:] = np.random.default_rng(11).normal(size=(DEAD, CLASSES))
        return columns.ravel() / np.linalg.norm(columns)

    def around(self, direction: np.ndarray, count: int, *, spread: float = 0.5, seed: int = 0) -> np.ndarray:
        """[count, m] the direction with noise of the given length relative to it."""
        noise = np.random.default_rng([seed, count]).normal(size=(count, direction.size))
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        return direction + spread * np.linalg.norm(direction) * noise

    def buyer(self, updates: Any, *, classes: tuple[int, ...] = (0, 1, 2, 3), **changes: Any) -> FakeBuyer:
        """A buyer whose root data hold `classes` evenly."""
        updates = np.asarray(updates)
        labels = np.resize(np.array(classes), ROWS)
        rows = self.prototypes[labels] + np.random.default_rng(5).normal(0, 3.5, (ROWS, FEATURES))
        rows[:, -DEAD:] = 0.0
        given = FakeBuyer(
            updates=updates,
            rows=rows,
            labels=labels,
            model=0.2 * self.truth,
            own_update=self.truth if len(classes) == CLASSES else self.only(classes),
            providers=[f"p{i}" for i in range(len(updates))],
        )
        return replace(given, scored=[], bought=[], **changes)


@pytest.fixture(scope="session")
def world() -> World:
    prototypes = np.random.default_rng(3).normal(size=(CLASSES, FEATURES))
    prototypes[:, -DEAD:] = 0.0
    return World(prototypes)


@pytest.fixture(scope="session")
def epochs() -> Callable[..., list[Any]]:
    """Run a strategy over one buyer per epoch, and give back its selections; each sees the model moved by the last."""

    def run(strategy: Any, buyers: list[FakeBuyer], *, seed: int = 0) -> list[Any]:
        state, found, model = strategy.start(), [], buyers[0].model
        for index, buyer in enumerate(buyers):
            buyer.model = model
            state, selection = strategy.decide(state, buyer, np.random.default_rng([seed, index]))
            delivered = buyer.deliver(selection)
            state = strategy.learn(state, selection, buyer, delivered)
            model = model + sum((selection.weights[i] * update for i, update in delivered.items()), 0.0 * model)
            found.append(selection)
        return found

    return run
