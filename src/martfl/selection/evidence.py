"""Include by default, drop on evidence: a selection that a biased root dataset cannot capture.

The paper's rule judges everybody by the provider that looks best on the root data; where those data are biased, that is
a provider biased in the same way, and good sellers are dropped as outliers. Here a group is dropped only for a reason
that the buyer can hold up to it:

- *adds nothing*: its updates repeat the step that the model made in the epoch before (free riders), are copies of one
  another (all but one are dropped), or agree with nothing more than random signs would (noise);
- *does harm*: the current model plus the mean of a few of its updates, bought for a look, is worse on the root data
  than the current model, and than the best group's, by several standard errors, judged only on the classes that the
  root data hold;
- *is of a worse kind*: only where no half of the classes dominates the root data, so that they can tell good from bad.
  It delivered updates of the worse one of two kinds (`contrast`), its group's mean cosine with the acquirer's own
  update lies below another group's, or it delivered models that are clearly worse than the best one of their epoch,
  twice in a row. Who is unknown is looked at before it is weighed; who is of the worse kind is looked at again later.

A low or negative score alone is no evidence: where the root data are biased, the baseline may be the one that errs.
What is left is bought up to the budget: of every group its share, first who was not bought for longest, at equal
weights (less for groups of longer updates). The next baselines are means over groups of their mean direction, so that a
large group does not outvote a small one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from martfl.errors import InputError
from martfl.selection.contrast import FEWEST, Contrast, Verdict, clearly_above, find_contrast, weigh
from martfl.selection.halves import combine, directions, mean_direction, norm, split_halves
from martfl.selection.kappa import cohen_kappa, kappa_deviation
from martfl.selection.kmeans import Floats
from martfl.selection.noise import noisy, tie
from martfl.selection.result import Role, Selection
from martfl.selection.strategy import Buyer, State, Vector, nobody, select_answered

BUDGET = "good enough, but the budget went to others"
WORSE_KIND = "is of a kind that agrees less with training on the root data, or shares something besides the task"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The rule's parameters. `budget` is the largest share of providers to buy; the rest are about certainty."""

    most_baselines: ClassVar[int] = 4  # two halves, the last step, the own update

    budget: float = 0.65
    looks: int = 2  # updates of a group to buy for a look
    deviations: float = 3.0  # how many standard errors make harm
    agreement: float = 4.0  # how many standard errors make two updates have something in common
    memory: int = 10  # epochs for which noise, and with even root data harm, is remembered
    follower: float = 0.95  # cosine with the last step of the model from which an update adds nothing
    same: float = 1e-4  # scores closer than this in every direction are those of copies
    evenness: float = 0.25  # share of the root rows in the rarer half of the classes from which the root is trusted
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
        return {
            "epoch": 0, "left": None, "right": None, "halves": {}, "previous": None, "bought": {},
            "records": {}, "suspects": [], "contrast": None, "leans": [0.0, 0], "kinds": {}, "seen": 0,
        }  # fmt: skip

    def decide(self, state: State, buyer: Buyer, rng: np.random.Generator) -> tuple[State, Selection]:
        """Gather the facts of one epoch, and buy what nothing speaks against."""
        if not buyer.providers:
            return state, nobody(0)
        case = _Case(self, state, buyer, rng)
        selection = case.decide()
        return {**state, "records": {**case.fresh_records(), **case.flagged}, "previous": buyer.model}, selection

    def learn(self, state: State, selection: Selection, buyer: Buyer, delivered: Mapping[int, Vector]) -> State:
        """The next baselines; where the root data may be trusted, also who turned out bad, and of what kind."""
        noise = self._noise(state, buyer, delivered)
        state = {
            **state,
            "records": {**state["records"], **dict.fromkeys(noise, state["epoch"])},
            "bought": {**state["bought"], **dict.fromkeys((buyer.providers[i] for i in delivered), state["epoch"])},
        }
        sound = {i: vector for i, vector in delivered.items() if buyer.providers[i] not in noise}
        if not root_is_even(buyer, self.evenness):
            groups = _kept_groups(selection, sound)
            return {**state, "epoch": state["epoch"] + 1, **_baselines(groups, buyer, sound)}
        return self._learn_from_even_root(state, selection, buyer, sound)

    def _noise(self, state: State, buyer: Buyer, delivered: Mapping[int, Vector]) -> list[str]:
        """Who delivered something that has nothing in common with what is known, nor with the others' sum."""
        units, known = directions(delivered), _known(state, buyer)
        total = sum(units.values())
        ties = {i: tie(unit, [*known, total - unit]) for i, unit in units.items()}
        return [buyer.providers[i] for i in noisy(ties, agreement=self.agreement)]

    def _learn_from_even_root(
        self, state: State, selection: Selection, buyer: Buyer, delivered: Mapping[int, Vector]
    ) -> State:
        kinds, worse = self._kinds(state, buyer, delivered)
        kept = [i for group in _kept_groups(selection, delivered) for i in group if i not in worse]
        bad = set(_worse_than_best(buyer, delivered, self.deviations))
        again = bad & set(state["suspects"])  # once may be chance, twice in a row is a record
        shown = {buyer.providers[i] for i in delivered}
        return {
            **state,
            "epoch": state["epoch"] + 1,
            **_baselines([kept] if kept else [], buyer, delivered),
            "records": {**state["records"], **dict.fromkeys(sorted(again), state["epoch"])},
            "suspects": sorted((set(state["suspects"]) - shown) | (bad - again)),
            **kinds,
        }

    def _kinds(self, state: State, buyer: Buyer, delivered: Mapping[int, Vector]) -> tuple[State, tuple[int, ...]]:
        """What is known of kinds after these deliveries, until it is due to be seen again; who is of the worse one."""
        news = _news(state, buyer, delivered)
        if news is None:
            if state["epoch"] - state["seen"] < self.memory:
                return {}, ()
            forgotten = [name for name, worse in state["kinds"].items() if worse]  # unknown again, to be looked at
            bought = {name: at for name, at in state["bought"].items() if name not in forgotten}
            return {"contrast": None, "kinds": {}, "bought": bought}, ()
        found, verdict = news
        worse = found.worse(verdict)
        shown = {buyer.providers[i]: i in worse for i in (*found.lower, *found.upper)}
        after = {
            "contrast": verdict.direction, "leans": [verdict.total, verdict.findings],
            "kinds": verdict.carried(state["kinds"], _verdict(state)) | shown, "seen": state["epoch"],
        }  # fmt: skip
        return after, worse if verdict.certainty >= self.deviations else ()


class _Case:
    """One epoch's decision: facts are gathered one by one, each dropping some providers with its reason."""

    def __init__(self, rule: Evidence, state: State, buyer: Buyer, rng: np.random.Generator) -> None:
        self.rule, self.state, self.buyer, self.rng = rule, state, buyer, rng
        self.even = root_is_even(buyer, rule.evenness)
        n = len(buyer.providers)
        self.reasons = [""] * n
        self.roles = [Role.HIGH_QUALITY] * n
        self.flagged: dict[str, int] = {}
        self.looked: set[int] = set()
        self.factors = np.ones(n)

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

    def fresh_records(self) -> dict[str, int]:
        """Harm seen not too long ago."""
        now = self.state["epoch"]
        return {name: at for name, at in self.state["records"].items() if now - at < self.rule.memory}

    def _score(self) -> tuple[list[Floats], Floats | None]:
        """Cosines with the baselines, and with the last step of the model where there was one."""
        baselines = [self.state[half] for half in ("left", "right") if self.state[half] is not None]
        answers = [self.buyer.score(baseline) for baseline in baselines or [self.buyer.own_update]]
        previous = self.state["previous"]
        if previous is None or not norm(step := self.buyer.model - previous):
            return answers, None
        return answers, self.buyer.score(step)

    def _drop_records(self) -> None:
        records = self.fresh_records()
        for i, name in enumerate(self.buyer.providers):
            if name in records and self.roles[i] is Role.HIGH_QUALITY:
                self._drop([i], Role.DROPPED, f"on record since epoch {records[name] + 1}; looked at again later")

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
        """Drop who was of the worse kind of deliveries; when it is due, look at some of them again."""
        verdict, kinds = _verdict(self.state), self.state["kinds"]
        if verdict is None or verdict.certainty < self.rule.deviations or not self.even:
            return
        worse = np.array([i for i in self.left() if kinds.get(self.buyer.providers[i])], dtype=np.int64)
        if self.state["epoch"] - self.state["seen"] >= self.rule.memory:
            self._look(worse)
        self._drop(worse, Role.DROPPED, WORSE_KIND)

    def _cluster(self, scores: Floats) -> Selection:
        """The paper's clustering of who is left."""
        known = np.where([role is Role.HIGH_QUALITY for role in self.roles], scores, np.nan)
        options = {"threshold": self.rule.threshold, "max_clusters": self.rule.max_clusters, "candidate_share": 0.0}
        return replace(select_answered(known, baseline=None, rng=self.rng, **options), scores=scores)

    def _look_around(self, clustered: Selection) -> bool:
        """Before somebody unknown is weighed, look at all that the budget buys; drop the worse one of two kinds."""
        before = self.state["bought"]
        turn = sorted(self._in_turn(clustered), key=lambda i: self.buyer.providers[i] in before)  # the unknown first
        seen = turn[: self._places() - len(self.looked)]
        if len(seen) < FEWEST or all(self.buyer.providers[i] in before for i in seen):
            return False
        self.looked.update(bought := self.buyer.buy(seen))
        news = _news(self.state, self.buyer, bought)
        if news is None or news[1].certainty < self.rule.deviations:
            return False
        found, verdict = news
        self._drop(found.worse(verdict), Role.DROPPED, WORSE_KIND)
        self._drop([i for i in self.left() if i not in self.looked], Role.SPARED, BUDGET)
        return True

    def _look_at_groups(self, clustered: Selection) -> None:
        """Buy a look at every group; drop those that are noise, then those that do harm."""
        groups = [members for members in self._groups(clustered) if members.size]
        looks = {i: bought for i, members in enumerate(groups) if (bought := self._look(members))}
        noise = noisy(self._ties(looks), agreement=self.rule.agreement)
        for i in noise:
            why = "updates of its group, bought for a look, agree with nothing more than random signs would"
            self._drop(groups[i], Role.DROPPED, why)
            self._record(groups[i])
            del looks[i]
        means = {i: _mean(bought) for i, bought in looks.items()}
        for i in self._harmful(means):
            why = "updates of its group, bought for a look, made the model worse"
            self._drop(groups[i], Role.DROPPED, why)
            if self.even:
                self._record(groups[i])
        self._weigh_by_length(groups, means)

    def _ties(self, looks: Mapping[int, Mapping[int, Vector]]) -> dict[int, float]:
        """By group: the most that one of its looks has in common with what is known, or with another look."""
        known, ties = _known(self.state, self.buyer), {}
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
        """Drop groups that agree less with clean training than another one does, whichever the baselines prefer."""
        groups = [members for members in self._groups(clustered) if members.size]
        if len(groups) < 2:
            return
        own = scores if self.state["left"] is None else self.buyer.score(self.buyer.own_update)
        parts = [own[members][np.isfinite(own[members])] for members in groups]
        best = max((part for part in parts if part.size), key=np.mean, default=scores)
        for members, part in zip(groups, parts, strict=True):
            if part.size and part is not best and clearly_above(best, part, self.rule.deviations):
                why = "its group agrees less with training on the root data than another one does"
                self._drop(members, Role.DROPPED, why)

    def _apply_budget(self, clustered: Selection) -> None:
        """Buy up to the budget; a look is paid for, wherever it led."""
        wanted = np.isin(self.left(), list(self.looked)).sum()
        room = max(1, self._places() - len(self.looked) + wanted) - wanted
        others = [i for i in self._in_turn(clustered) if i not in self.looked]
        self._drop(others[max(0, room) :], Role.SPARED, BUDGET)

    # --- helpers -------------------------------------------------------------------------------------------------

    def _groups(self, clustered: Selection) -> list[NDArray[np.int64]]:
        left = set(self.left().tolist())
        return [
            np.array([i for i in np.flatnonzero(clustered.labels == label) if i in left], dtype=np.int64)
            for label in range(clustered.clusters)
        ]

    def _places(self) -> int:
        """How many the budget buys."""
        return int(self.rule.budget * len(self.buyer.providers) + 1e-9)

    def _in_turn(self, clustered: Selection) -> list[int]:
        """Of every group its share; in a group those looked at, then who was not bought for longest."""
        places = {}
        for members in self._groups(clustered):
            turn = self.rng.permutation(members).tolist()
            turn.sort(key=lambda i: (i not in self.looked, self.state["bought"].get(self.buyer.providers[i], -1)))
            places.update({i: (place + 0.5) / members.size for place, i in enumerate(turn)})
        return sorted(places, key=places.__getitem__)

    def _look(self, members: NDArray[np.int64]) -> Mapping[int, Vector]:
        seen = [i for i in members.tolist() if i in self.looked][: self.rule.looks]
        fresh = [i for i in members.tolist() if i not in self.looked]
        chosen = self.rng.choice(fresh, size=min(self.rule.looks - len(seen), len(fresh)), replace=False)
        bought = self.buyer.buy([*seen, *chosen.tolist()])
        self.looked.update(bought)
        return bought

    def _record(self, group: NDArray[np.int64]) -> None:
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


def _verdict(state: State) -> Verdict | None:
    """What was found out about kinds of deliveries."""
    return None if state["contrast"] is None else Verdict(state["contrast"], *state["leans"])


def _news(state: State, buyer: Buyer, delivered: Mapping[int, Vector]) -> tuple[Contrast, Verdict] | None:
    """Two kinds among deliveries and the verdict on them; None where nothing is learnt about kinds."""
    known, found = _verdict(state), find_contrast(delivered, buyer.own_update)
    verdict = weigh(known, found) if found else known
    return None if found is None or verdict is None or verdict is known else (found, verdict)


def _known(state: State, buyer: Buyer) -> list[Vector]:
    """What honest updates have something in common with: late in training often little more than the model itself."""
    known = (buyer.own_update, buyer.model, state["left"], state["right"])
    return [vector for vector in known if vector is not None]


def judge(buyer: Buyer, model: Vector) -> tuple[float, float]:
    """Kappa and its standard error, the model choosing among the classes that the root data hold.

    The root data cannot judge a model's belief in other classes, so that it is not held against the model.
    """
    (row,) = buyer.predict([model], among=np.unique(buyer.labels))
    return cohen_kappa(row, buyer.labels), kappa_deviation(row, buyer.labels)


def root_is_even(buyer: Buyer, evenness: float) -> bool:
    """Whether no half of the classes dominates: the rarer half holds at least this share of the root data."""
    counts = np.sort(np.bincount(buyer.labels, minlength=buyer.classes))
    return counts.size < 2 or bool(counts[: counts.size // 2].sum() >= evenness * counts.sum())


def _worse_than_best(buyer: Buyer, delivered: Mapping[int, Vector], deviations: float) -> list[str]:
    """Who delivered a model that is worse on the root data than the best delivered one, beyond doubt."""
    judged = {i: judge(buyer, buyer.model + update) for i, update in delivered.items()}
    best = max((kappa for kappa, _ in judged.values()), default=0.0)
    return [buyer.providers[i] for i, (kappa, error) in judged.items() if kappa < best - deviations * error]


def _kept_groups(selection: Selection, delivered: Mapping[int, Vector]) -> list[list[int]]:
    """Who was given weight and delivered, by group."""
    members = [
        np.flatnonzero((selection.labels == label) & (selection.weights > 0)) for label in range(selection.clusters)
    ]
    groups = [[int(i) for i in group if int(i) in delivered and norm(delivered[int(i)])] for group in members]
    return [group for group in groups if group]


def _baselines(groups: list[list[int]], buyer: Buyer, delivered: Mapping[int, Vector]) -> State:
    """The next baselines, one over each half of those kept, and who is in which; nothing where nobody was kept."""
    if not groups:
        return {}
    parts, units = split_halves(groups), directions(delivered)
    left, right = (mean_direction(part, units) for part in parts)
    halves = {buyer.providers[i]: half for half, part in enumerate(parts) for group in part for i in group}
    return {"left": left, "right": right, "halves": halves}


def _mean(vectors: Mapping[int, Vector]) -> Vector:
    return sum(vectors.values()) / len(vectors)
