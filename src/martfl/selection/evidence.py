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
  update lies below another group's, or it delivered models that are clearly worse than half of those of their epoch,
  twice in a row. Who is unknown is looked at before it is weighed; who is of the worse kind is looked at again later.

A low or negative score alone is no evidence: where the root data are biased, the baseline may be the one that errs.
What is left is bought up to the budget: of every group its share, first who was not bought for longest, at equal
weights (less for groups of longer updates). The next baselines are means over groups of their mean direction, so that a
large group does not outvote a small one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from martfl.errors import InputError
from martfl.selection.case import Case
from martfl.selection.contrast import Shares, stand_apart, worse
from martfl.selection.facts import findings_on_kinds, judge, noise_among, root_is_even
from martfl.selection.halves import directions, mean_direction, norm, split_halves
from martfl.selection.result import Selection
from martfl.selection.strategy import Buyer, State, Vector, nobody

FADING = 0.7  # what a step counts when the next one is made


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The rule's parameters. `budget` is the largest share of providers to buy; the rest are about certainty."""

    most_baselines: ClassVar[int] = 4  # two halves, the last step, the own update

    budget: float = 0.65
    looks: int = 2  # updates of a group to buy for a look
    deviations: float = 3.0  # how many standard errors make harm
    agreement: float = 4.0  # how many standard errors make two updates have something in common
    memory: int = 10  # epochs for which noise, and with even root data a worse delivery, is remembered
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
            "records": {}, "suspects": [], "leans": {}, "shares": {}, "seen": 0,
        }  # fmt: skip

    def decide(self, state: State, buyer: Buyer, rng: np.random.Generator) -> tuple[State, Selection]:
        """Gather the facts of one epoch, and buy what nothing speaks against."""
        if not buyer.providers:
            return state, nobody(0)
        case = Case(self, state, buyer, rng)
        selection = case.decide()
        return {**state, "records": {**case.records(), **case.flagged}, "previous": buyer.model}, selection

    def learn(self, state: State, selection: Selection, buyer: Buyer, delivered: Mapping[int, Vector]) -> State:
        """The next baselines; where the root data may be trusted, also who turned out bad, and of what kind."""
        noise = noise_among(state, buyer, delivered, agreement=self.agreement)
        now, names = state["epoch"], buyer.providers
        state = {
            **state,
            "records": {**state["records"], **dict.fromkeys((names[i] for i in noise), now)},
            "bought": {**state["bought"], **dict.fromkeys((names[i] for i in delivered), now)},
        }
        sound = {i: vector for i, vector in delivered.items() if i not in noise}
        if not root_is_even(buyer, self.evenness):
            groups = _kept_groups(selection, sound)
            return {**state, "epoch": state["epoch"] + 1, **_baselines(groups, buyer, sound)}
        return self._learn_from_even_root(state, selection, buyer, sound)

    def _learn_from_even_root(
        self, state: State, selection: Selection, buyer: Buyer, delivered: Mapping[int, Vector]
    ) -> State:
        kinds = self._kinds(state, buyer, delivered)
        out = worse(kinds["leans"], self.deviations)
        kept = [i for group in _kept_groups(selection, delivered) for i in group if buyer.providers[i] not in out]
        bad = set(_worse_than_most(buyer, delivered, self.deviations))
        again = bad & set(state["suspects"])  # once may be chance, twice in a row is a record
        shown = {buyer.providers[i] for i in delivered}
        return {
            **state,
            "epoch": state["epoch"] + 1,
            **_baselines([kept] if kept else [], buyer, delivered),
            "records": {**state["records"], **dict.fromkeys(sorted(again), state["epoch"])},
            "suspects": sorted((set(state["suspects"]) - shown) | (bad - again)),
            "shares": _shares(state["shares"], buyer, selection),
            **kinds,
        }

    def _kinds(self, state: State, buyer: Buyer, delivered: Mapping[int, Vector]) -> State:
        """What is known of kinds after these deliveries, until it is due to be seen again."""
        leans = findings_on_kinds(state, buyer, delivered, deviations=self.deviations)
        if leans is not None:
            seen = worse(leans, self.deviations) & {buyer.providers[i] for i in delivered}
            return {"leans": leans, "seen": state["epoch"] if seen else state["seen"]}
        known, named = worse(state["leans"], self.deviations), {buyer.providers[i]: v for i, v in delivered.items()}
        if state["epoch"] - state["seen"] < self.memory or not known & set(named):
            return {"leans": state["leans"]}
        if stand_apart(named, known):
            return {"leans": state["leans"], "seen": state["epoch"]}
        return {  # unknown again, to be looked at
            "leans": {name: lean for name, lean in state["leans"].items() if name not in known},
            "bought": {name: at for name, at in state["bought"].items() if name not in known},
        }


def _worse_than_most(buyer: Buyer, delivered: Mapping[int, Vector], deviations: float) -> list[str]:
    """Who delivered a model that is worse on the root data than half of the delivered ones, beyond doubt.

    Providers of few classes each make poor models one by one, and a good one together: what most do is no evidence.
    """
    judged = {i: judge(buyer, buyer.model + update) for i, update in delivered.items()}
    middle = float(np.median([kappa for kappa, _ in judged.values()])) if judged else 0.0
    return [buyer.providers[i] for i, (kappa, error) in judged.items() if kappa < middle - deviations * error]


def _shares(before: Shares, buyer: Buyer, selection: Selection) -> Shares:
    """The weights in the model's last steps, the last one counting most."""
    weights = dict(zip(buyer.providers, selection.weights.tolist(), strict=True))
    return {name: FADING * before.get(name, 0.0) + weights.get(name, 0.0) for name in {**before, **weights}}


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
