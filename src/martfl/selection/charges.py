"""What speaks against a provider: what it does by itself, or the kind that it belongs to.

Every finding is evidence in one currency (`e_values`), under a noise model whose numbers were measured on stored
updates. By itself a provider is charged with doing harm, and with having nothing in common with anybody, as random
signs have. A kind is charged with six findings: its updates help less (harm), the buyer's own update is of the other
kind (own), its updates are longer (length), it is the smaller part (majority), honest providers seldom come in crisp
kinds (rarity), and what it has learnt most is the same where no root row reaches (hidden). Both sides of a cut are
charged alike, and at most one of them can be bad.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.selection.crowd import Crowd, find_crowd
from martfl.selection.e_values import against_rival, log_e
from martfl.selection.gains import mean_and_error, unlike_strata
from martfl.selection.kinds import LEAST, Cut, Mask, find_cuts, find_hidden, to_cosines, unlikeness, without_common
from martfl.selection.parameters import Parameters
from martfl.selection.reasons import Code
from martfl.selection.taught import Taught, find_taught

SIGNS = math.log(4.0)  # random signs have no more in common with the closest of a few dozen others, in deviations
MOST_LENGTH = 3.0  # of the evidence: honest kinds may be longer too, where they have more to learn
QUARTILE = 0.75  # of a kind's members that are long, and of the others that are not


@dataclass(frozen=True)
class Known:
    """What is known of k providers, averaged over epochs."""

    rows: Floats  # [k, r] gains
    weights: Floats  # [r] of the rows
    cover: float  # share of the classes that the root data hold
    even: bool  # whether no half of the classes dominates them
    lengths: Floats  # [k] log of the length against the kept ones'
    own: Floats  # [k] cosine with the buyer's own update; NaN where it is not known now
    own_error: float  # of a cosine that was scored under encryption
    directions: Floats  # [k, d]
    ties: Floats  # [k] log of what each has in common with another, against random signs
    hidden: Floats  # [k, d] what each learnt most where no root row reaches
    taught: Taught | None = None  # what they teach of single words; None where the task has none
    strata: NDArray[np.int64] | None = None  # [r] of the rows
    classes: int = 0  # of the task

    @property
    def reach(self) -> Floats:
        """[k] how much of the usual step an update makes, at most 1: gains are measured at the usual length."""
        return np.exp(np.minimum(self.lengths, 0.0))


@dataclass(frozen=True)
class Charge:
    """The strongest evidence against a provider."""

    evidence: float
    code: Code = Code.KEPT
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Accusation:
    """What speaks against one side of a cut, finding by finding."""

    harm: float
    own: float
    length: float
    majority: float
    rarity: float
    hidden: float

    @property
    def total(self) -> float:
        return self.harm + self.own + self.length + self.majority + self.rarity + self.hidden


@dataclass(frozen=True)
class Findings:
    """The charges against k providers, and what they were read from."""

    charges: tuple[Charge, ...]
    deviations: Floats  # [k] gains in units of row noise
    crowd: Crowd


def find_charges(rule: Parameters, known: Known) -> Findings:
    """The strongest charge against each of k providers."""
    mean, error = mean_and_error(known.rows, known.weights)
    noise = np.sqrt(error**2 + unseen(known, mean) ** 2)
    deviations = mean / noise
    unlike = unlike_strata(known.rows, known.weights, known.strata) if known.even else np.ones_like(deviations)
    crowd = find_crowd(deviations, unlike)
    charges = charge_each(rule, known, known.reach * (deviations - crowd.middle) / crowd.spread)
    for members, evidence, parts in charge_kinds(rule, known, crowd) if rule.uses("kinds") else ():
        numbers = {"members": len(members), **vars(parts)}
        for i in members:
            charges[i] = max(charges[i], Charge(evidence, Code.KIND, numbers), key=lambda charge: charge.evidence)
    return Findings(tuple(charges), deviations, crowd)


def charge_each(rule: Parameters, known: Known, shortfalls: Floats) -> list[Charge]:
    """What each is charged with by itself; both findings count, and the stronger one names the charge."""
    harm = log_e(shortfalls) if rule.uses("harm") else np.zeros(len(shortfalls))
    apart = (known.ties - np.median(known.ties)) / rule.tie_spread
    alone = np.where(known.ties < SIGNS, log_e(apart), 0.0) if rule.uses("alone") else np.zeros(len(shortfalls))
    return [
        Charge(float(h + a), Code.HARM, {"deviation": float(z)})
        if a <= max(h, 0.0)
        else Charge(float(h + a), Code.ALONE, {"tie": float(np.exp(tie))})
        for h, a, z, tie in zip(harm, alone, shortfalls, known.ties, strict=True)
    ]


def unseen(known: Known, mean: Floats) -> float:
    """How large the gain on classes may be that the root data lack: as large as what they see, for each such class."""
    return (1.0 - known.cover) / known.cover * math.sqrt(float((mean**2).mean())) if known.cover < 1.0 else 0.0


def charge_kinds(rule: Parameters, known: Known, crowd: Crowd) -> list[tuple[Sequence[int], float, Accusation]]:
    """(members, evidence, findings) of the likeliest bad kinds, one by direction and one by what is hidden.

    Both are charged at once: what is left after the one may be too few to show the other. If any of them is convicted,
    the rest is cut again.
    """
    left = np.arange(len(known.rows))
    found: list[tuple[Sequence[int], float, Accusation]] = []
    while True:
        part = _part(known, left)
        gram = part.directions @ part.directions.T
        ways = [find_cuts(gram, part.lengths), hidden_cuts(rule, gram, part)]
        worst = [likeliest(rule, part, crowd, cuts) for cuts in ways if cuts]
        found += [(left[members].tolist(), evidence, parts) for members, evidence, parts in worst]
        convicted = [members for members, evidence, _ in worst if evidence >= rule.limit]
        if not convicted:
            return found
        left = left[~np.any(convicted, axis=0)]


def likeliest(rule: Parameters, known: Known, crowd: Crowd, cuts: Sequence[Cut]) -> tuple[Mask, float, Accusation]:
    """The side of all cuts against which the evidence is strongest."""
    sides = [side for cut in cuts for side in charge_sides(rule, known, crowd, cut)]
    return max(sides, key=lambda side: side[1])


def hidden_cuts(rule: Parameters, gram: Floats, known: Known) -> list[Cut]:
    """Who teaches the same of one word; where the task has no words, who hides the same where no root row reaches."""
    if not rule.uses("hidden"):
        return []
    if known.taught is not None:
        heard = known.ties >= SIGNS  # random signs are all alike, whoever the others are
        others = gram[heard][:, heard] if heard.sum() >= 2 * LEAST else gram
        return find_taught(known.taught, unlikeness(to_cosines(without_common(others))), served(known))
    return find_hidden(gram, known.hidden @ known.hidden.T)


def served(known: Known) -> Floats | None:
    """[k, c] mean gains on the rows of each class, NaN where there are none; None where rows have no classes."""
    answers = known.taught.own.shape[1] if known.taught is not None else 0
    if known.strata is None or known.classes <= known.strata.max() or answers % known.classes:
        return None
    means = np.full((len(known.rows), known.classes), np.nan)
    for held in np.unique(known.strata):
        means[:, held] = known.rows[:, known.strata == held].mean(axis=1)
    return means


def charge_sides(rule: Parameters, known: Known, crowd: Crowd, cut: Cut) -> list[tuple[Mask, float, Accusation]]:
    """Both sides of a cut, each with its evidence against the other's."""
    here, there = (accuse(rule, known, crowd, cut, side) for side in (cut.members, ~cut.members))
    return [
        (cut.members, against_rival(here.total, there.total, rule.odds), here),
        (~cut.members, against_rival(there.total, here.total, rule.odds), there),
    ]


def accuse(rule: Parameters, known: Known, crowd: Crowd, cut: Cut, side: Mask) -> Accusation:
    """The six findings against one side; who is further on its way is crisp, long and unlike the buyer by nature.

    Of a kind that was found where no root row reaches, only its size says something besides: what it does for the root
    rows neither excuses it nor accuses the others.
    """
    kind = 0.0 if cut.hidden is not None else 1.0 - cut.ahead(side) * rule.uses("stage")
    return Accusation(
        harm=_harm(rule, known, crowd, side) if rule.uses("harm") and cut.hidden is None else 0.0,
        own=kind * _own(rule, known, side) if rule.uses("own") and known.even else 0.0,
        length=kind * _length(rule, known, cut, side) if rule.uses("length") else 0.0,
        majority=0.5 * math.log((~side).sum() / side.sum()) if rule.uses("majority") else 0.0,
        rarity=kind * _rarity(rule, known, cut, side) if rule.uses("rarity") else 0.0,
        hidden=_hidden(rule, known, cut.hidden) if cut.hidden is not None and cut.holds(side) else 0.0,
    )


def _rarity(rule: Parameters, known: Known, cut: Cut, side: Mask) -> float:
    """Honest providers seldom come in crisp kinds, and as seldom are their longest updates a kind.

    Where the root data hold half of the classes, providers may as well: there kinds are less rare.
    """
    most = math.log(1.0 / (rule.rare if known.even else math.sqrt(rule.rare)))
    if cut.alike is None:
        return cut.crispness * most
    return min(float(log_e(-cut.alike)), most) if cut.holds(side) else 0.0


def _hidden(rule: Parameters, known: Known, score: float) -> float:
    """Honest kinds have small scores; where the root data hold half of the classes, what the others learn is hidden."""
    spread = rule.hidden_spread if known.even else 2.0 * rule.hidden_spread
    return float(log_e(-score / spread))


def _harm(rule: Parameters, known: Known, crowd: Crowd, side: Mask) -> float:
    """The side's mean gain against the other's.

    Members differ like all honest ones do. And since a kind was chosen by direction, on which gains depend, its mean
    may lie off by a part (`aligned`) of that spread, however many its members are.
    """
    means, errors = mean_and_error(known.rows, known.weights)
    gap, error = mean_and_error(known.rows[side].mean(axis=0) - known.rows[~side].mean(axis=0), known.weights)
    few = 1 / side.sum() + 1 / (~side).sum()
    between = crowd.spread**2 * float((errors**2).mean()) * (few + rule.aligned**2)
    noise = math.sqrt(float(error) ** 2 + between + (2 * unseen(known, means)) ** 2)
    return float(log_e(float(known.reach[side].mean()) * float(gap) / noise))


def _own(rule: Parameters, known: Known, side: Mask) -> float:
    """The odds that the buyer's own update, which is honest, is of the other kind and not of this one.

    Of kinds with mean directions s and t the own update o has  ρ = (o·s − o·t) / (a·(1 − s·t)),  a its cosine with the
    closer one: +1 where it is of kind s, −1 where it is of kind t. Off these values it errs like a Cauchy variable,
    since it comes from few rows and fewer steps: what fits neither kind says little.
    """
    seen = np.isfinite(known.own)
    here, there = side & seen, ~side & seen
    if min(here.sum(), there.sum()) < 2:
        return 0.0
    gram = known.directions @ known.directions.T
    inner, outer = _signal(gram, here), _signal(gram, there)
    close = float(gram[np.ix_(here, there)].mean()) / (inner * outer)
    ours, theirs = float(known.own[here].mean()) / inner, float(known.own[there].mean()) / outer
    gap = max(ours, theirs, 0.0) * max(1.0 - close, 0.0)
    if gap <= 1e-9:
        return 0.0
    spread = here.sum() * (known.own[here].var() / inner**2) + there.sum() * (known.own[there].var() / outer**2)
    noise = spread / (seen.sum() - 2) * (1 + 1 / here.sum() + 1 / there.sum()) + known.own_error**2
    place, width = (ours - theirs) / gap, rule.own_spread**2 + noise / gap**2
    return math.log1p((place - 1) ** 2 / width) - math.log1p((place + 1) ** 2 / width)


def _length(rule: Parameters, known: Known, cut: Cut, side: Mask) -> float:
    """How much longer three quarters of the side are than three quarters of the others; many make it no surer.

    A side that holds the middle of all lengths is not long: the others are short, as small sellers are.
    Between kinds by direction, log lengths vary as they do within them, and by `same_length` besides. Where the longest
    were chosen, or providers may hold other classes, they vary by `length_spread`, in some markets by more: length
    convicts nobody alone.
    """
    here, there = known.lengths[side], known.lengths[~side]
    low, middle = float(np.quantile(here, 1.0 - QUARTILE)), float(np.median(known.lengths))
    gap = min(low - float(np.quantile(there, QUARTILE)), 2.0 * (low - middle))
    if low <= middle and float(np.median(here)) >= middle:
        return 0.0
    within = math.sqrt((here.var() * here.size + there.var() * there.size) / (known.lengths.size - 2))
    tight = cut.alike is None and known.even
    spread = math.hypot(within, rule.same_length) if tight else rule.length_spread
    return min(float(log_e(-gap / spread)), MOST_LENGTH)


def _signal(gram: Floats, members: Mask) -> float:
    """The length of what members have in common, √ of their mean inner product: noise of their own adds nothing."""
    part = gram[np.ix_(members, members)]
    pairs = len(part) * (len(part) - 1)
    return math.sqrt(max(float(part.sum() - np.trace(part)) / pairs, 1e-6))


def _part(known: Known, left: np.ndarray) -> Known:
    return Known(
        known.rows[left], known.weights, known.cover, known.even, known.lengths[left], known.own[left],
        known.own_error, known.directions[left], known.ties[left], known.hidden[left],
        known.taught.of(left.tolist()) if known.taught is not None else None, known.strata, known.classes,
    )  # fmt: skip
