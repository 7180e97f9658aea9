"""The paper's rule over epochs: Algorithm 1, judged by the provider that looked best on the root data before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.selection import codec
from martfl.selection.kappa import choose_baseline, cohen_kappa
from martfl.selection.reasons import Code, Role, because
from martfl.selection.result import Clusters, Selection, nobody
from martfl.selection.select import select
from martfl.selection.strategy import Buyer, Vector

VERSION = 2
BUYS = (Role.HIGH_QUALITY, Role.QUALIFIED, Role.CANDIDATE)


@dataclass(frozen=True)
class PaperState:
    """Who is judged by in the next epoch; None for the buyer's own update."""

    baseline: str | None = None


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Algorithm 1: one baseline, the provider of the best kappa on the root data in the epoch before.

    Examples:
        >>> rule = Paper(threshold=0.1)
        >>> rule.unpack(rule.pack(PaperState(baseline='Birch')))
        PaperState(baseline='Birch')
    """

    most_baselines: ClassVar[int] = 1

    threshold: float = 0.05
    candidate_share: float = 0.1
    max_clusters: int = 4
    adjust: bool = True  # α

    def start(self) -> PaperState:
        """Judged by the buyer's own update."""
        return PaperState()

    def trade(self, state: PaperState, buyer: Buyer, rng: np.random.Generator) -> tuple[PaperState, Selection]:
        """Score against the baseline, remove outliers, buy the rest; the best kappa among them judges next."""
        if not buyer.providers:
            return state, nobody(())
        delivered, baseline = _baseline_of(state.baseline, buyer)
        vector = buyer.own_update if baseline is None else delivered[baseline]
        options = {name: getattr(self, name) for name in ("threshold", "candidate_share", "max_clusters")}
        chosen = select_answered(buyer.score(vector), baseline=baseline, rng=rng, **options)
        delivered |= buyer.buy([i for i, role in enumerate(chosen.roles) if role in BUYS])
        return PaperState(self._next_baseline(buyer, delivered)), deliver(chosen, delivered)

    def _next_baseline(self, buyer: Buyer, delivered: Mapping[int, Vector]) -> str | None:
        names = sorted(delivered)
        if not names:
            return None
        marks = dict(zip(names, root_marks(buyer, [buyer.model + delivered[i] for i in names]), strict=True))
        chosen = choose_baseline(names, marks.__getitem__, adjust=self.adjust)
        return None if chosen is None else buyer.providers[chosen]

    def pack(self, state: PaperState) -> bytes:
        """The baseline's name."""
        return codec.pack("martfl", VERSION, {"baseline": state.baseline}, {})

    def unpack(self, data: bytes) -> PaperState:
        """What `pack` was given."""
        facts, _ = codec.unpack(data, "martfl", VERSION)
        return PaperState(facts["baseline"])


def root_marks(buyer: Buyer, models: Sequence[Vector]) -> list[float]:
    """Cohen's kappa of each model on the root rows; their mean goodness where the task has no classes."""
    logits, truth = buyer.logits(models), buyer.strata
    if logits is None or truth is None:
        return [float(row) for row in buyer.goodness(models).mean(axis=1)]
    return [cohen_kappa(row, truth) for row in logits.argmax(axis=-1)]


def deliver(chosen: Selection, delivered: Mapping[int, Vector]) -> Selection:
    """The selection of what arrived: who was bought and did not deliver has no weight."""
    missing = [i for i, role in enumerate(chosen.roles) if role in BUYS and i not in delivered]
    weights = chosen.weights.copy()
    weights[missing] = 0.0
    total = weights.sum()
    reasons = list(chosen.reasons)
    for i in missing:
        reasons[i] = because(Code.MISSING)
    weights = weights / total if total else weights
    return replace(chosen, weights=weights, reasons=tuple(reasons), bought=tuple(sorted(delivered)))


def select_answered(scores: Floats, *, baseline: int | None, rng: np.random.Generator, **options: Any) -> Selection:
    """`select` among those who answered; the others are silent, whatever they are worth."""
    answered = np.isfinite(scores)
    if baseline is not None:
        answered[baseline] = True
    if not answered.any():
        return nobody((because(Code.SILENT),) * scores.size)
    known = np.flatnonzero(answered)
    own = None if baseline is None else int(np.searchsorted(known, baseline))
    filled = np.where(np.isfinite(scores), scores, 1.0)[known]  # only the baseline itself may lack a score: it is 1
    return _spread(select(filled, baseline=own, rng=rng, **options), known, scores)


def _spread(part: Selection, known: NDArray[np.int64], scores: Floats) -> Selection:
    """A selection among `known` providers as one among all."""
    assert part.clusters is not None
    weights, labels, whole = np.zeros(scores.size), np.full(scores.size, -1), scores.copy()
    weights[known], labels[known], whole[known] = part.weights, part.clusters.labels, part.scores
    reasons = [because(Code.SILENT)] * scores.size
    for i, reason in zip(known, part.reasons, strict=True):
        reasons[i] = reason
    old = part.clusters
    clusters = Clusters(labels, old.centroids, old.distribution, old.threshold)
    return Selection(whole, weights, tuple(reasons), clusters=clusters)


def _baseline_of(name: str | None, buyer: Buyer) -> tuple[dict[int, Vector], int | None]:
    """What was bought to judge by, and whose it is; nobody's where that provider is gone or does not deliver."""
    if name in buyer.providers:
        index = list(buyer.providers).index(str(name))
        if index in (bought := buyer.buy([index])):
            return dict(bought), index
    return {}, None
