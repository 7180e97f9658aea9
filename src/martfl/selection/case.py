"""One epoch of `evidence`: facts are gathered one by one, each dropping some providers with its reason."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from martfl.selection.contrast import CONSPIRACY, FEWEST, better, clearly_above, worse
from martfl.selection.facts import findings_on_kinds, judge, known_directions, noise_among, root_is_even
from martfl.selection.halves import combine, norm
from martfl.selection.kmeans import Floats
from martfl.selection.noise import noisy, tie
from martfl.selection.result import Role, Selection
from martfl.selection.strategy import Buyer, State, Vector, nobody, select_answered

if TYPE_CHECKING:
    from martfl.selection.evidence import Evidence

BUDGET = "good enough, but the budget went to others"
WORSE_KIND = "is of a kind that agrees less with training on the root data, or shares something besides the task"
NOISE = "has nothing in common with anything, as random signs would"


class Case:
    """One epoch's decision: facts are gathered one by one, each dropping some providers with its reason."""

    def __init__(self, rule: "Evidence", state: State, buyer: Buyer, rng: np.random.Generator) -> None:
        self.rule, self.state, self.buyer, self.rng = rule, state, buyer, rng
        self.even = root_is_even(buyer, rule.evenness)
        n = len(buyer.providers)
        self.reasons = [""] * n
        self.roles = [Role.HIGH_QUALITY] * n
        self.flagged: dict[str, int] = {}
        self.looked: set[int] = set()
        self.factors = np.ones(n)
        self.returning: set[str] = set()

    def decide(self) -> Selection:
        answers, follow = self._score()
        scores = combine(answers, self.state["halves"], self.buyer.providers)
        self._drop(np.flatnonzero(~np.isfinite(scores)), Role.SILENT, "gave no valid answer to the request for a score")
        self._drop_records()
        self._drop_followers(follow)
        if follow is not None:  # one direction alone cannot tell copies from neighbours
            self._drop_copies(np.stack([*answers, follow]))
        self._drop_worse_kind()
        if not self.left().size:
            return replace(nobody(scores.size), scores=scores, roles=tuple(self.roles), reasons=tuple(self.reasons))
        clustered = self._cluster(scores)
        if self.even and not self._look_around(clustered):
            self._drop_less_agreeing(clustered, scores)
        self._look_at_groups(clustered)
        self._apply_budget(clustered)
        return self._selection(clustered)

    # --- facts ---------------------------------------------------------------------------------------------------

    def left(self) -> NDArray[np.int64]:
        """Who is still in."""
        return np.array([i for i, role in enumerate(self.roles) if role is Role.HIGH_QUALITY], dtype=np.int64)

    def records(self) -> dict[str, int]:
        """Who stays on record."""
        return {name: at for name, at in self.state["records"].items() if name not in self.returning}

    def _score(self) -> tuple[list[Floats], Floats | None]:
        """Cosines with the baselines, and with the last step of the model where there was one."""
        baselines = [self.state[half] for half in ("left", "right") if self.state[half] is not None]
        answers = [self.buyer.score(baseline) for baseline in baselines or [self.buyer.own_update]]
        previous = self.state["previous"]
        if previous is None or not norm(step := self.buyer.model - previous):
            return answers, None
        return answers, self.buyer.score(step)

    def _drop_records(self) -> None:
        """Drop who is on record; whose record is old is looked at again, the oldest first, at half of the places."""
        records, names = self.state["records"], self.buyer.providers
        old = {name for name, at in records.items() if self.state["epoch"] - at >= self.rule.memory}
        self.returning = old
        if self.even and self.rule.memory:
            there = sorted((records[names[i]], names[i]) for i in self._named(old))
            self.returning = {name for _, name in there[: max(1, self._places() // 2)]}
        for i in self._named(set(self.records())):
            self._drop([i], Role.DROPPED, f"on record since epoch {records[names[i]] + 1}; looked at again later")

    def _drop_followers(self, follow: Floats | None) -> None:
        if follow is not None:
            riders = np.flatnonzero(follow > self.rule.follower)
            if np.isin(self.left(), riders).all():
                return  # where everybody goes on as before, nobody stands out
            self._drop(riders, Role.DROPPED, "repeats the model's last step, so that it adds nothing")

    def _drop_copies(self, directions: Floats) -> None:
        originals: list[int] = []
        for i in self.rng.permutation(self.left()):
            apart = np.abs(directions[:, originals] - directions[:, [i]]).max(axis=0)  # [originals]
            if (apart < self.rule.same).any():
                self._drop([int(i)], Role.DROPPED, "is a copy of another provider's update, so that it adds nothing")
            else:
                originals.append(int(i))

    def _drop_worse_kind(self) -> None:
        """Drop who was of the worse kind of deliveries; look at some of them when it is due, or beside the unknown."""
        if not self.even:
            return
        known = self._named(worse(self.state["leans"], self.rule.deviations))
        due = self.state["epoch"] - self.state["seen"] >= self.rule.memory
        if due or (self._unknown(self.left().tolist()) and self._places() >= CONSPIRACY + FEWEST):
            self._look(known, min(CONSPIRACY, max(0, self._places() - 1)))  # one place is for somebody good
        self._drop(known, Role.DROPPED, WORSE_KIND)

    def _cluster(self, scores: Floats) -> Selection:
        """The paper's clustering of who is left."""
        known = np.where([role is Role.HIGH_QUALITY for role in self.roles], scores, np.nan)
        options = {"threshold": self.rule.threshold, "max_clusters": self.rule.max_clusters, "candidate_share": 0.0}
        return replace(select_answered(known, baseline=None, rng=self.rng, **options), scores=scores)

    def _look_around(self, clustered: Selection) -> bool:
        """Before somebody unknown is weighed, look at all that the budget buys; drop the worse one of two kinds."""
        turn = self._in_turn(clustered)
        unknown = self._unknown(turn)
        seen = [*unknown, *(i for i in turn if i not in unknown)][: self._room()]
        if len(seen) < FEWEST or not unknown:
            return False
        bought = self.buyer.buy([*self.looked, *seen])
        self.looked.update(bought)
        noise = noise_among(self.state, self.buyer, bought, agreement=self.rule.agreement)
        self._drop(noise, Role.DROPPED, NOISE)
        self._record(noise)
        sound = {i: vector for i, vector in bought.items() if i not in noise}
        leans = findings_on_kinds(self.state, self.buyer, sound, deviations=self.rule.deviations)
        known = self._named(worse(leans, self.rule.deviations)) if leans else []
        if not known:
            return False
        self._drop(known, Role.DROPPED, WORSE_KIND)
        self._drop([i for i in self.left() if i not in self.looked], Role.SPARED, BUDGET)
        return True

    def _look_at_groups(self, clustered: Selection) -> None:
        """Buy a look at every group; drop those that are noise, then those that do harm."""
        groups = [members for members in self._groups(clustered) if members.size]
        looks = {
            i: bought for i, members in enumerate(groups) if (bought := self._look(members.tolist(), self.rule.looks))
        }
        noise = noisy(self._ties(looks), agreement=self.rule.agreement)
        for i in noise:
            why = "updates of its group, bought for a look, agree with nothing more than random signs would"
            self._drop(groups[i], Role.DROPPED, why)
            self._record(groups[i].tolist())
            del looks[i]
        means = {i: _mean(bought) for i, bought in looks.items()}
        for i in self._harmful(means):
            why = "updates of its group, bought for a look, made the model worse"
            self._drop(groups[i], Role.DROPPED, why)
        self._weigh_by_length(groups, means)

    def _ties(self, looks: Mapping[int, Mapping[int, Vector]]) -> dict[int, float]:
        """By group: the most that one of its looks has in common with what is known, or with another look."""
        known, ties = known_directions(self.state, self.buyer), {}
        for group, bought in looks.items():
            vectors = list(bought.values())
            ties[group] = max(tie(look, [*known, *vectors[:i], *vectors[i + 1 :]]) for i, look in enumerate(vectors))
        return ties

    def _harmful(self, means: Mapping[int, Vector]) -> list[int]:
        """Groups worse on the root data than the current model and than the best group.

        One local model is often worse than the global one, honest or not: what all do is no evidence against anybody.
        """
        before, deviation = judge(self.buyer, self.buyer.model)
        after = {i: judge(self.buyer, self.buyer.model + mean) for i, mean in means.items()}
        bar = min([before, *([max(after.values())[0]] if after else [])])
        return [i for i, (kappa, own) in after.items() if kappa < bar - self.rule.deviations * max(own, deviation)]

    def _weigh_by_length(self, groups: list[NDArray[np.int64]], means: Mapping[int, Vector]) -> None:
        """A group whose looks are longer than half of the groups' counts less: length is not quality."""
        lengths = {i: norm(mean) for i, mean in means.items()}
        reference = float(np.quantile(list(lengths.values()), 0.5, method="lower")) if lengths else 0.0
        for i, length in lengths.items():
            if length > reference > 0:
                self.factors[groups[i]] = reference / length

    def _drop_less_agreeing(self, clustered: Selection, scores: Floats) -> None:
        """Drop groups that agree less with clean training than another one does, whichever the baselines prefer.

        Two may agree with it by chance, and who was found to be of the better kind has more than that to show.
        """
        groups = [members for members in self._groups(clustered) if members.size]
        if max((members.size for members in groups), default=0) < CONSPIRACY or len(groups) < 2:
            return
        own = scores if self.state["left"] is None else self.buyer.score(self.buyer.own_update)
        parts = [own[members][np.isfinite(own[members])] for members in groups]
        best = max((part for part in parts if part.size >= CONSPIRACY), key=np.mean, default=None)
        credit = self._named(better(self.state["leans"], self.rule.deviations))
        for members, part in zip(groups, parts, strict=True):
            if best is not None and part.size and clearly_above(best, part, self.rule.deviations):
                why = "its group agrees less with training on the root data than another one does"
                self._drop([i for i in members if i not in credit], Role.DROPPED, why)

    def _apply_budget(self, clustered: Selection) -> None:
        """Buy up to the budget; a look is paid for, wherever it led. Where all led nowhere, one more is bought."""
        others = [i for i in self._in_turn(clustered) if i not in self.looked]
        nobody_yet = not np.isin(self.left(), list(self.looked)).any()
        self._drop(others[max(self._room(), int(nobody_yet)) :], Role.SPARED, BUDGET)

    # --- helpers -------------------------------------------------------------------------------------------------

    def _unknown(self, providers: Sequence[int]) -> list[int]:
        """Who of them is back from the record, or was never bought; where some are of a worse kind, beside others."""
        seen = self.state["leans"] if worse(self.state["leans"], self.rule.deviations) else self.state["bought"]
        names = self.buyer.providers
        return [i for i in providers if names[i] not in seen or names[i] in self.returning]

    def _named(self, names: set[str]) -> list[int]:
        """Who of them is left."""
        return [i for i in self.left().tolist() if self.buyer.providers[i] in names]

    def _groups(self, clustered: Selection) -> list[NDArray[np.int64]]:
        left = set(self.left().tolist())
        return [
            np.array([i for i in np.flatnonzero(clustered.labels == label) if i in left], dtype=np.int64)
            for label in range(clustered.clusters)
        ]

    def _places(self) -> int:
        """How many the budget buys."""
        return int(self.rule.budget * len(self.buyer.providers) + 1e-9)

    def _room(self) -> int:
        """How many more it buys."""
        return max(0, self._places() - len(self.looked))

    def _in_turn(self, clustered: Selection) -> list[int]:
        """Of every group its share; in a group those looked at, then who was not bought for longest."""
        places = {}
        for members in self._groups(clustered):
            turn = self.rng.permutation(members).tolist()
            turn.sort(key=lambda i: (i not in self.looked, self.state["bought"].get(self.buyer.providers[i], -1)))
            places.update({i: (place + 0.5) / members.size for place, i in enumerate(turn)})
        return sorted(places, key=places.__getitem__)

    def _look(self, members: Sequence[int], looks: int) -> Mapping[int, Vector]:
        """Buy as many of them for a look, in advance; those already seen count."""
        seen = [i for i in members if i in self.looked][:looks]
        fresh = [i for i in members if i not in self.looked]
        chosen = self.rng.choice(fresh, size=min(looks - len(seen), len(fresh)), replace=False).tolist()
        bought = self.buyer.buy([*seen, *chosen])
        self.looked.update(bought)
        return bought

    def _record(self, group: Sequence[int]) -> None:
        self.flagged.update({self.buyer.providers[i]: self.state["epoch"] for i in group})

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


def _mean(vectors: Mapping[int, Vector]) -> Vector:
    return sum(vectors.values()) / len(vectors)
