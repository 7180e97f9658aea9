"""Selection as a buyer lives it: epoch after epoch, learning only what the protocol lets it learn.

A `Strategy` is pure functions over explicit state. `decide` may score providers against baselines of its choice and
buy updates in advance; `learn` sees what was delivered and prepares the next epoch. The same strategy runs in the lab
and in the market: only the `Buyer` that answers it differs. Vectors may be numpy arrays or torch tensors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from martfl.selection.kappa import choose_baseline, cohen_kappa
from martfl.selection.kmeans import Floats
from martfl.selection.result import Distribution, Role, Selection
from martfl.selection.select import select

Vector = Any
State = Mapping[str, Any]


class Buyer(Protocol):
    """One epoch from the buyer's side. Every call to `score` and `buy` costs, and is counted."""

    @property
    def providers(self) -> Sequence[str]:
        """Who committed [n]."""

    @property
    def model(self) -> Vector:
        """The global model before the epoch [m]."""

    @property
    def own_update(self) -> Vector:
        """The acquirer's own update, trained on the root data [m]."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """The true classes of the root data [r]."""

    def score(self, baseline: Vector) -> Floats:
        """Cosines of all updates with `baseline` [n], under encryption; NaN for who gave no valid answer."""

    def buy(self, providers: Sequence[int]) -> Mapping[int, Vector]:
        """Buy at the flat fee, before any weight is set; who does not deliver is missing from the answer."""

    @property
    def classes(self) -> int:
        """How many classes the task has; the root data need not hold them all."""

    def logits(self, models: Sequence[Vector]) -> Floats:
        """What each model gives every class for every row of the root data [k, r, classes]."""


class Strategy(Protocol):
    """A way to select over many epochs; a frozen dataclass of its parameters."""

    most_baselines: ClassVar[int]  # that it asks providers for in an epoch

    def start(self) -> State:
        """What it knows before the first epoch."""

    def decide(self, state: State, buyer: Buyer, rng: np.random.Generator) -> tuple[State, Selection]:
        """Judge one epoch's updates."""

    def learn(self, state: State, selection: Selection, buyer: Buyer, delivered: Mapping[int, Vector]) -> State:
        """Prepare the next epoch from what was delivered."""


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Algorithm 1: one baseline, the provider of the best kappa on the root data in the epoch before."""

    most_baselines: ClassVar[int] = 1

    threshold: float = 0.05
    candidate_share: float = 0.1
    max_clusters: int = 4
    adjust: bool = True  # α

    def start(self) -> State:
        """Judged by the acquirer's own update."""
        return {"baseline": None}

    def decide(self, state: State, buyer: Buyer, rng: np.random.Generator) -> tuple[State, Selection]:
        """Score against the baseline, remove outliers."""
        baseline, vector = _baseline_of(state["baseline"], buyer)
        options = {name: getattr(self, name) for name in ("threshold", "candidate_share", "max_clusters")}
        return state, select_answered(buyer.score(vector), baseline=baseline, rng=rng, **options)

    def learn(self, state: State, selection: Selection, buyer: Buyer, delivered: Mapping[int, Vector]) -> State:
        """The best kappa on the root data is the next baseline."""
        if not delivered:
            return self.start()
        names = list(delivered)
        predicted = buyer.logits([buyer.model + delivered[i] for i in names]).argmax(axis=-1)  # [k, r]
        kappas = {i: cohen_kappa(row, buyer.labels) for i, row in zip(names, predicted, strict=True)}
        chosen = choose_baseline(sorted(kappas), kappas.__getitem__, adjust=self.adjust)
        return {"baseline": None if chosen is None else buyer.providers[chosen]}


def select_answered(scores: Floats, *, baseline: int | None, rng: np.random.Generator, **options: Any) -> Selection:
    """`select` among those who answered; the others are silent, whatever they are worth."""
    answered = np.isfinite(scores)
    if baseline is not None:
        answered[baseline] = True
    if not answered.any():
        return nobody(scores.size)
    known = np.flatnonzero(answered)
    own = None if baseline is None else int(np.searchsorted(known, baseline))
    filled = np.where(np.isfinite(scores), scores, 1.0)[known]  # only the baseline itself may lack a score: it is 1
    part = select(filled, baseline=own, rng=rng, **options)
    return spread(part, known, scores)


def spread(part: Selection, known: NDArray[np.int64], scores: Floats) -> Selection:
    """A selection among `known` providers as one among all."""
    weights, labels = np.zeros(scores.size), np.full(scores.size, -1)
    weights[known], labels[known] = part.weights, part.labels
    roles = [Role.SILENT] * scores.size
    for i, role in zip(known, part.roles, strict=True):
        roles[i] = role
    whole = scores.copy()
    whole[known] = part.scores
    return Selection(whole, weights, tuple(roles), labels, part.centroids, part.distribution, part.threshold)


def nobody(providers: int) -> Selection:
    """The selection of an epoch in which nobody can be judged."""
    empty = np.full(providers, np.nan)
    roles = (Role.SILENT,) * providers
    labels = np.full(providers, -1)
    return Selection(empty, np.zeros(providers), roles, labels, np.empty(0), Distribution.GATHERED, 0.0)


def _baseline_of(name: str | None, buyer: Buyer) -> tuple[int | None, Vector]:
    """The provider to judge by and its update; the acquirer's own where that provider is gone or does not deliver."""
    if name in buyer.providers:
        index = list(buyer.providers).index(str(name))
        bought = buyer.buy([index])
        if index in bought:
            return index, bought[index]
    return None, buyer.own_update
