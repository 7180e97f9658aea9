"""A classifier that is told who attacked in other divisions of the data, and asked in one that it has not seen.

It is the mean of two, whose settings were fixed before anything was measured: a logistic regression and extremely
randomised trees. Features are taken against the median of the same market and epoch, in its median deviations, since no
rule knows absolute scales.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from martfl.arrays import Floats
from martfl.bench.separation.markets import Sight
from martfl.errors import InputError

REACH = 5.0  # deviations at which features are cut
TREES, LEAF, REGULAR = 400, 4, 0.05
BEST = 3
DIGITS = 3
EVIDENCE = "the rule's evidence"

Judge = Callable[[Floats], Floats]  # [k, f] features -> [k] chances


@dataclass(frozen=True)
class Caught:
    """The share of the attackers that go where a share of the honest sellers may."""

    sellers: float
    rows: float  # the same by the rows that they hold


@dataclass(frozen=True)
class Told:
    """How well attackers are told from honest sellers in one market; means over the divisions that were left out."""

    dataset: str
    case: str
    mean: str
    without: str  # features whose name has this in it were not looked at
    seeds: int
    epochs: int
    sellers: int
    attackers: int
    first: float  # AUC by the first epoch, of a classifier that was told of first epochs alone
    epoch: float  # by one epoch of all
    auc: float  # by the mean over all epochs …
    error: float  # … its standard error over seeds …
    worst: float  # … and in the worst one
    fewer: float  # AUC of a classifier that was told of half as many divisions
    named: float  # AUC of a classifier that may name classes
    at_1: Caught
    at_5: Caught
    singles: Mapping[str, float]  # AUC of each feature by itself; below ½ attackers have the lower numbers

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (self.dataset, self.case, self.mean, self.without)

    @property
    def rule(self) -> float:
        """AUC of the rule's own evidence."""
        return self.singles[EVIDENCE]

    @property
    def best(self) -> list[tuple[str, float]]:
        """The single features that tell most."""
        return sorted(self.singles.items(), key=lambda pair: -abs(pair[1] - 0.5))[:BEST]


def tell_apart(sights: Sequence[Sight], *, without: str = "") -> Told:
    """All figures of one market, from two divisions of its data or more."""
    if len(sights) < 2:
        raise InputError("a classifier that is told of other divisions needs two seeds or more")
    sights = [_less(sight, without) for sight in sights]
    truths, names = [np.array(sight.attackers) for sight in sights], common_names(sights)
    tables = [features(sight) for sight in sights]
    chances, fewer = leave_out(tables, truths), leave_out(tables, truths, most=max(1, (len(sights) - 1) // 2))
    named = leave_out([features(sight, names) for sight in sights], truths)
    scores, rows = [one.mean(axis=0) for one in chances], [np.array(sight.rows) for sight in sights]
    aucs, first = _aucs(chances, truths), sights[0]
    return Told(
        first.dataset, first.case, first.mean, without, len(sights), first.epochs, truths[0].size, int(truths[0].sum()),
        first=_mean(_aucs(leave_out([table[:1] for table in tables], truths), truths)),
        epoch=_mean([auc(row, truth) for one, truth in zip(chances, truths, strict=True) for row in one]),
        auc=_mean(aucs),
        error=round(float(np.std(aucs, ddof=1)) / math.sqrt(len(aucs)), DIGITS),
        worst=round(min(aucs), DIGITS),
        fewer=_mean(_aucs(fewer, truths)),
        named=_mean(_aucs(named, truths)),
        at_1=caught(scores, truths, rows, spared=0.99),
        at_5=caught(scores, truths, rows, spared=0.95),
        singles=single_features(tables, truths, list(first.plain)),
    )  # fmt: skip


def _less(sight: Sight, without: str) -> Sight:
    """The same without some features."""
    left = {name: values for name, values in sight.plain.items() if not without or without not in name}
    if EVIDENCE not in left:
        raise InputError(f"what the rule finds is always looked at; {without!r} names it")
    return replace(sight, plain=left)


def _aucs(chances: Sequence[Floats], truths: Sequence[np.ndarray]) -> list[float]:
    """By the mean over epochs, of every division."""
    return [auc(one.mean(axis=0), truth) for one, truth in zip(chances, truths, strict=True)]


def features(sight: Sight, named: Sequence[str] = ()) -> Floats:
    """[epochs, n, f] what a classifier sees: no class by its name but those asked for."""
    columns = [*sight.plain.values(), *(sight.named[name] for name in named)]
    return standardise(np.stack([np.array(column) for column in columns], axis=-1))


def common_names(sights: Sequence[Sight]) -> list[str]:
    """The features that name classes, of those that all divisions have: root rows may lack a class."""
    return [name for name in sights[0].named if all(name in sight.named for sight in sights)]


def standardise(values: Floats) -> Floats:
    """[epochs, n, f] against the median of the epoch, in its median deviations, or plain ones where these are 0."""
    apart = values - np.median(values, axis=1, keepdims=True)
    robust = 1.4826 * np.median(np.abs(apart), axis=1, keepdims=True)
    spread = np.where(robust > 1e-9, robust, apart.std(axis=1, keepdims=True))
    return np.clip(np.divide(apart, spread, out=np.zeros_like(apart), where=spread > 1e-9), -REACH, REACH)


def leave_out(tables: Sequence[Floats], truths: Sequence[np.ndarray], *, most: int = 0) -> list[Floats]:
    """[epochs, n] chances in every division, from what is known of the others alone, or of the `most` next ones."""
    found = []
    for place, table in enumerate(tables):
        others = [(place + step) % len(tables) for step in range(1, (most or len(tables) - 1) + 1)]
        judge = learn([tables[i] for i in others], [truths[i] for i in others])
        found.append(judge(table.reshape(-1, table.shape[-1])).reshape(table.shape[:2]))
    return found


def learn(tables: Sequence[Floats], truths: Sequence[np.ndarray]) -> Judge:
    """The classifier, told who attacked in these divisions."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression

    x = np.concatenate([table.reshape(-1, table.shape[-1]) for table in tables])
    y = np.concatenate([np.tile(truth, len(table)) for table, truth in zip(tables, truths, strict=True)])
    both = (
        LogisticRegression(C=REGULAR, class_weight="balanced", max_iter=1000),
        ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, class_weight="balanced", random_state=0),
    )
    fitted = [one.fit(x, y) for one in both]
    return lambda rows: np.mean([one.predict_proba(rows)[:, 1] for one in fitted], axis=0)


def auc(scores: Floats, truth: np.ndarray) -> float:
    """The chance that an attacker has the higher score.

    Examples:
        >>> auc(np.array([1.0, 2.0, 3.0]), np.array([False, True, True]))
        1.0
    """
    bad, good = scores[truth][:, None], scores[~truth][None]
    return float(((bad > good) + 0.5 * (bad == good)).mean())


def caught(
    scores: Sequence[Floats], truths: Sequence[np.ndarray], rows: Sequence[np.ndarray], *, spared: float
) -> Caught:
    """At one limit for all divisions, below which this share of the honest sellers lies at least."""
    score, truth, held = np.concatenate(scores), np.concatenate(truths), np.concatenate(rows)
    honest = np.sort(score[~truth])
    limit = honest[min(math.ceil(spared * len(honest)), len(honest)) - 1]
    over = truth & (score > limit)
    shares = over.sum() / truth.sum(), held[over].sum() / held[truth].sum()
    return Caught(*(round(float(share), DIGITS) for share in shares))


def single_features(tables: Sequence[Floats], truths: Sequence[np.ndarray], names: Sequence[str]) -> dict[str, float]:
    """The AUC of each feature by itself, averaged over epochs."""
    means = [table.mean(axis=0) for table in tables]
    return {
        name: _mean([auc(mean[:, i], truth) for mean, truth in zip(means, truths, strict=True)])
        for i, name in enumerate(names)
    }


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), DIGITS)
