"""A buyer small enough to reason about: a linear classifier, updates in the clear, a record of what was asked."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.metrics.pairwise import cosine_similarity

FEATURES, CLASSES, DEAD = 500, 4, 250  # the last DEAD features are zero in every row: what they learn changes nothing
ROWS = 240


@dataclass
class FakeBuyer:
    """`martfl.selection.Buyer` over arrays."""

    updates: np.ndarray  # [n, m]
    rows: np.ndarray  # [r, features]
    strata: np.ndarray | None
    model: np.ndarray
    own_update: np.ndarray
    providers: list[str]
    asks: np.ndarray
    silent: frozenset[int] = frozenset()  # answers no request for a score
    missing: frozenset[int] = frozenset()  # bought, but does not deliver
    has_logits: bool = True
    score_error: float = 0.0
    held_words: np.ndarray | None = None  # [w] where features are words: then a model answers to each alone
    truth: np.ndarray | None = None  # [r] the classes behind goodness
    scored: list[np.ndarray] = field(default_factory=list)
    bought: list[int] = field(default_factory=list)
    judged: list[np.ndarray] = field(default_factory=list)  # models that were looked at

    def score(self, baseline: np.ndarray) -> np.ndarray:
        self.scored.append(baseline)
        scores = cosine_similarity(self.updates, baseline[None])[:, 0]
        return np.where(np.isin(np.arange(len(scores)), list(self.silent)), np.nan, scores)

    def buy(self, providers: Any) -> dict[int, np.ndarray]:
        self.bought += [int(i) for i in providers if i not in self.bought]
        return {int(i): self.updates[i] for i in providers if i not in self.missing}

    def _logits(self, models: Any) -> np.ndarray:
        self.judged += list(models)
        return np.stack([self.rows @ model.reshape(FEATURES, CLASSES) for model in models])

    def logits(self, models: Any) -> np.ndarray | None:
        return self._logits(models) if self.has_logits else None

    def by_word(self, models: Any, *, seed: int) -> Any:
        return (np.asarray(model, dtype=float).reshape(FEATURES, 1, CLASSES) for model in models)

    def goodness(self, models: Any) -> np.ndarray:
        return log_softmax(self._logits(models), axis=-1)[:, np.arange(len(self.rows)), self.truth]


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
    def shifted(self) -> np.ndarray:
        """[m] of length 1: the truth with every class taken for the next one."""
        return np.roll(self.truth.reshape(FEATURES, CLASSES), 1, axis=1).ravel()

    @property
    def dead(self) -> np.ndarray:
        """[m] of length 1: moves only parameters that no row uses; a secret that the root data cannot see."""
        columns = np.zeros((FEATURES, CLASSES))
        columns[-DEAD:] = np.random.default_rng(11).normal(size=(DEAD, CLASSES))
        return columns.ravel() / np.linalg.norm(columns)

    def around(self, direction: np.ndarray, count: int, *, spread: float = 1.0, seed: int = 0) -> np.ndarray:
        """[count, m] the direction with noise of the given length relative to it."""
        noise = np.random.default_rng([seed, count]).normal(size=(count, direction.size))
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        return direction + spread * np.linalg.norm(direction) * noise

    def buyer(self, updates: Any, *, classes: tuple[int, ...] = (0, 1, 2, 3), **changes: Any) -> FakeBuyer:
        """A buyer whose root data hold `classes` evenly."""
        updates = np.asarray(updates)
        labels = np.resize(np.array(classes), ROWS)
        rows = self.prototypes[labels] + np.random.default_rng(5).normal(0, 4.0, (ROWS, FEATURES))
        rows[:, -DEAD:] = 0.0
        own = self.truth if len(classes) == CLASSES else self.only(classes)
        given = FakeBuyer(
            updates=updates,
            rows=rows,
            strata=labels,
            truth=labels,
            model=0.2 * self.truth,
            own_update=self.around(own, 1, seed=77)[0],
            providers=[f"p{i}" for i in range(len(updates))],
            asks=np.full(len(updates), 1 / max(len(updates), 1)),
        )
        return replace(given, scored=[], bought=[], judged=[], **changes)


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
            state, selection = strategy.trade(state, buyer, np.random.default_rng([seed, index]))
            model = model + selection.weights @ buyer.updates
            found.append(selection)
        return found

    return run
