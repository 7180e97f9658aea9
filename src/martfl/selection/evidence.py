"""Include by default, drop on evidence: a selection that a biased root dataset cannot capture.

The paper's rule judges everybody by the provider that looks best on the root data; where those data are biased, that is
a provider biased in the same way, and good sellers are dropped as outliers. Here a group is dropped only for a reason
that the buyer can hold up to it:

- *adds nothing*: its updates point where the model moved in the epoch before (free riders), nowhere at all (noise),
  or are copies of one another (all copies but one are dropped);
- *does harm*: the current model plus the mean of a few of its updates, bought for a look, is worse on the root data
  than the current model, and than the best group's, by more than two standard errors, judged only on the classes that
  the root data hold;
- *is not needed*: only where the root data hold all classes evenly, so that they can tell good from bad, the low
  category of the paper's clustering is dropped too.

What is left is bought up to the budget, drawn anew each epoch, at equal weights (less for groups of longer updates).
The next baseline is the mean over groups of their mean direction, so that a large group does not outvote a small one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from martfl.errors import InputError
from martfl.selection.kappa import cohen_kappa, kappa_deviation
from martfl.selection.kmeans import Floats
from martfl.selection.result import Role, Selection
from martfl.selection.strategy import Buyer, State, Vector, nobody, select_answered


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The rule's parameters. `budget` is the largest share of providers to buy; the rest are about certainty."""

    budget: float = 0.65
    looks: int = 2  # updates of a group to buy for a look
    deviations: float = 2.0  # how many standard errors make harm
    memory: int = 10  # epochs for which harm is remembered
    follower: float = 0.95  # cosine with the last step of the model from which an update adds nothing
    same: float = 1e-4  # scores closer than this in every direction are those of copies
    least: float = 0.1  # a group under this share of the best group's score points nowhere
    evenness: float = 0.95  # normalised entropy of the root classes from which the root data are trusted
    threshold: float = 0.05
    max_clusters: int = 4

    def __post_init__(self) -> None:
        if not 0.0 < self.budget <= 1.0:
            raise InputError(f"budget must lie in (0, 1], got {self.budget}")
        if self.looks < 1 or self.memory < 0 or self.deviations < 0:
            raise InputError(
                f"looks ≥ 1, memory ≥ 0 and deviations ≥ 0, got {self.looks}, {self.memory} and {self.deviations}"
            )

    def start(self) -> State:
        """No baseline but the acquirer's own update, nothing on record."""
        return {"epoch": 0, "baseline": None, "previous": None, "records": {}}

    def decide(self, state: State, buyer: Buyer, rng: np.random.Generator) -> tuple[State, Selection]:
        """Gather the facts of one epoch, and buy what nothing speaks against."""
        if not buyer.providers:
            return state, nobody(0)
        case = _Case(self, state, buyer, rng)
        selection = case.decide()
        return {**state, "records": {**case.fresh_records(), **case.flagged}, "previous": buyer.model}, selection

    def learn(self, state: State, selection: Selection, buyer: Buyer, delivered: Mapping[int, Vector]) -> State:
        """The next baseline, balanced over groups."""
        baseline = _balanced_mean(selection, delivered)
        kept = state["baseline"] if baseline is None else baseline
        return {**state, "epoch": state["epoch"] + 1, "baseline": kept}


class _Case:
    """One epoch's decision: facts are gathered one by one, each dropping some providers with its reason."""

    def __init__(self, rule: Evidence, state: State, buyer: Buyer, rng: np.random.Generator) -> None:
        self.rule, self.state, self.buyer, self.rng = rule, state, buyer, rng
        n = len(buyer.providers)
        self.reasons = [""] * n
        self.roles = [Role.HIGH_QUALITY] * n
        self.flagged: dict[str, int] = {}
        self.looked: set[int] = set()
        self.factors = np.ones(n)

    def decide(self) -> Selection:
        scores, follow = self._score()
        self._drop(np.flatnonzero(~np.isfinite(scores)), Role.SILENT, "gave no valid answer to the request for a score")
        self._drop_records()
        self._drop_followers(follow)
        self._drop_copies(scores, follow)
        if not self.left().size:
            return replace(nobody(scores.size), reasons=tuple(self.reasons))
        clustered = self._cluster(scores)
        self._drop_harm(clustered)
        if self._root_is_even():
            self._drop_low(clustered)
        self._apply_budget(clustered)
        return self._selection(clustered)

    # --- facts ---------------------------------------------------------------------------------------------------

    def left(self) -> NDArray[np.int64]:
        """Who is still in."""
        return np.array([i for i, role in enumerate(self.roles) if role is Role.HIGH_QUALITY], dtype=np.int64)

    def fresh_records(self) -> dict[str, int]:
        """Harm seen not too long ago."""
        now = self.state["epoch"]
        return {name: at for name, at in self.state["records"].items() if now - at < self.rule.memory}

    def _score(self) -> tuple[Floats, Floats | None]:
        baseline = self.state["baseline"]
        scores = self.buyer.score(self.buyer.own_update if baseline is None else baseline)
        previous = self.state["previous"]
        if previous is None or not _length(step := self.buyer.model - previous):
            return scores, None
        return scores, self.buyer.score(step)

    def _drop_records(self) -> None:
        records = self.fresh_records()
        for i, name in enumerate(self.buyer.providers):
            if name in records and self.roles[i] is Role.HIGH_QUALITY:
                self._drop([i], Role.DROPPED, f"did harm in epoch {records[name] + 1}; looked at again later")

    def _drop_followers(self, follow: Floats | None) -> None:
        if follow is not None:
            riders = np.flatnonzero(follow > self.rule.follower)
            self._drop(riders, Role.DROPPED, "repeats the model's last step, so that it adds nothing")

    def _drop_copies(self, scores: Floats, follow: Floats | None) -> None:
        if follow is None:  # one direction alone cannot tell copies from neighbours
            return
        directions, originals = np.stack([scores, follow]), list[int]()
        for i in self.rng.permutation(self.left()):
            apart = np.abs(directions[:, originals] - directions[:, [i]]).max(axis=0)  # [originals]
            if (apart < self.rule.same).any():
                self._drop([int(i)], Role.DROPPED, "is a copy of another provider's update, so that it adds nothing")
            else:
                originals.append(int(i))

    def _cluster(self, scores: Floats) -> Selection:
        """The paper's clustering of who is left; groups that point nowhere go."""
        known = np.where([role is Role.HIGH_QUALITY for role in self.roles], scores, np.nan)
        options = {"threshold": self.rule.threshold, "max_clusters": self.rule.max_clusters, "candidate_share": 0.0}
        clustered = select_answered(known, baseline=None, rng=self.rng, **options)
        best = clustered.centroids[-1]
        for label, centroid in enumerate(clustered.centroids[:-1]):
            if centroid <= 0 or centroid < self.rule.least * best:
                why = f"its group scores {centroid:.3f}, which points nowhere beside the best group's {best:.3f}"
                self._drop(np.flatnonzero(clustered.labels == label), Role.DROPPED, why)
        return replace(clustered, scores=np.where(np.isfinite(scores), scores, np.nan))

    def _drop_harm(self, clustered: Selection) -> None:
        """Buy a look at every group; one whose updates make the model worse on the root data goes.

        One local model is often worse than the global one, honest or not, so that a group must also be worse than the
        best group by as much: what all do is no evidence against anybody.
        """
        groups = [members for members in self._groups(clustered) if members.size]
        means = {i: _mean(bought) for i, members in enumerate(groups) if (bought := self._look(members))}
        if not means:
            return
        before = self._judge(self.buyer.model)
        after = {i: self._judge(self.buyer.model + mean) for i, mean in means.items()}
        best = max(after.values())
        for i, (kappa, deviation) in after.items():
            margin = self.rule.deviations * max(deviation, before[1])
            if kappa < min(before[0], best[0]) - margin:
                self.flagged.update({self.buyer.providers[j]: self.state["epoch"] for j in groups[i]})
                self._drop(groups[i], Role.DROPPED, "updates of its group, bought for a look, made the model worse")
        self._weigh_by_length(groups, means)

    def _weigh_by_length(self, groups: list[NDArray[np.int64]], means: Mapping[int, Vector]) -> None:
        """A group whose looks are longer than the best group's counts less: length is not quality."""
        reference = _length(means[max(means)])  # groups rise with their score
        for i, mean in means.items():
            if (length := _length(mean)) > reference > 0:
                self.factors[groups[i]] = reference / length

    def _drop_low(self, clustered: Selection) -> None:
        members = self.left()
        low = [i for i in members if clustered.roles[i] in (Role.DROPPED, Role.CANDIDATE)]
        if 0 < len(low) < members.size:
            self._drop(low, Role.DROPPED, "is in the low category, and the root data are even enough to tell")

    def _apply_budget(self, clustered: Selection) -> None:
        """Draw whom to buy: a look is paid for already; the rest in equal parts from every group."""
        room = max(1, int(self.rule.budget * len(self.buyer.providers) + 1e-9))
        members = set(self.left().tolist())
        wanted = sorted(members & self.looked)
        queues = [self.rng.permutation(sorted(set(g.tolist()) - self.looked)).tolist() for g in self._groups(clustered)]
        while len(wanted) < room and any(queues):
            wanted += [int(queue.pop()) for queue in queues if queue][: room - len(wanted)]
        self._drop(sorted(members - set(wanted)), Role.SPARED, "good enough, but the budget went to others")

    # --- helpers -------------------------------------------------------------------------------------------------

    def _groups(self, clustered: Selection) -> list[NDArray[np.int64]]:
        left = set(self.left().tolist())
        return [
            np.array([i for i in np.flatnonzero(clustered.labels == label) if i in left], dtype=np.int64)
            for label in range(clustered.clusters)
        ]

    def _look(self, members: NDArray[np.int64]) -> Mapping[int, Vector]:
        chosen = self.rng.choice(members, size=min(self.rule.looks, members.size), replace=False)
        bought = self.buyer.buy([int(i) for i in chosen])
        self.looked.update(bought)
        return bought

    def _judge(self, model: Vector) -> tuple[float, float]:
        """Kappa and its standard error, the model choosing among the classes that the root data hold.

        The root data cannot judge a model's belief in other classes, so that it is not held against the model.
        """
        (row,) = self.buyer.predict([model], among=np.unique(self.buyer.labels))
        return cohen_kappa(row, self.buyer.labels), kappa_deviation(row, self.buyer.labels)

    def _root_is_even(self) -> bool:
        counts = np.bincount(self.buyer.labels, minlength=self.buyer.classes)
        shares = counts[counts > 0] / counts.sum()
        return counts.size < 2 or float(-(shares * np.log(shares)).sum() / np.log(counts.size)) >= self.rule.evenness

    def _drop(self, providers: Sequence[int] | NDArray[np.int64], role: Role, reason: str) -> None:
        for i in providers:
            if self.roles[i] is Role.HIGH_QUALITY:
                self.roles[i] = Role.CANDIDATE if role is Role.DROPPED and int(i) in self.looked else role
                self.reasons[i] = reason

    def _selection(self, clustered: Selection) -> Selection:
        weights = np.array([role is Role.HIGH_QUALITY for role in self.roles]) * self.factors
        for i in np.flatnonzero(weights):
            self.reasons[i] = f"score {clustered.scores[i]:.3f}; nothing speaks against it"
        total = weights.sum()
        return replace(
            clustered,
            weights=weights / total if total else weights,
            roles=tuple(self.roles),
            reasons=tuple(self.reasons),
        )


def _balanced_mean(selection: Selection, delivered: Mapping[int, Vector]) -> Vector | None:
    """Mean over kept groups of the direction of their mean direction; None where nobody was kept."""
    directions = []
    for label in range(selection.clusters):
        members = [i for i in np.flatnonzero((selection.labels == label) & (selection.weights > 0)) if i in delivered]
        units = [delivered[int(i)] / length for i in members if (length := _length(delivered[int(i)]))]
        if units:
            mean = sum(units) / len(units)
            if length := _length(mean):
                directions.append(mean / length)
    return sum(directions) / len(directions) if directions else None


def _mean(vectors: Mapping[int, Vector]) -> Vector:
    return sum(vectors.values()) / len(vectors)


def _length(vector: Vector) -> float:
    return math.sqrt(float((vector * vector).sum()))
