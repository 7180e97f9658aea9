"""Kinds of providers: groups whose updates share a direction that the others lack, found without the root data.

Only cosines of updates less their common mean are used: neither length nor noise of a provider's own makes a kind,
since noise adds nothing to what two providers have in common. Candidates are cuts along the first principal components,
each moved to where every member is closer to its own side; and the longest updates, as many of them as are most alike.

Who has more rows is further on its way, and so both longer and elsewhere. Such sides are stages of one way and no
kinds: those of the shorter side are the closer to the longer one the longer they are. Only the shorter side is asked,
which whoever scales its updates up is not on, and only for ranks, which a few cannot turn.

And a kind may hide where no root row reaches: in numbers of the model that the buyer's own training never moves, such
as those of words that its rows lack. Honest providers learn a little there about many things, each about its own; a
backdoor learns one thing there more than anything else, the same in all its members.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.selection.crowd import best_cut

Mask = NDArray[np.bool_]

LEAST = 3  # members of a kind, and of what is left; two may be alike by chance
COMPONENTS = 3
APART = 3.0  # deviations between the sides of a cut for it to be looked at
# The best cut of honest providers lies up to 5 or 6 deviations apart, seldom 8; that of attackers mostly above 10.
COMMON, CRISP = 6.0, 10.0
# The longest updates of honest providers, as many as are most alike: so many standard errors closer to each other.
ALIKE, ALIKE_SPREAD = 1.5, 1.3
# Rank correlation, within the shorter side, of length with closeness to the longer one: of stages 0.62 and above;
# beside scaled backdoors 0.61 and below, mostly below 0, whatever sizes the sellers have.
KIND_TREND, STAGE_TREND = 0.55, 0.75
TOLD = 6  # updates on the shorter side from which it tells …
UNLIKE = 0.2  # … and deviation of their log lengths: where they are alike, ranks are chance
# The score of the best hidden kind of honest providers: 0 to 2.3 where they hold other classes, 0 to 0.3 where they are
# alike. Alike means that the cosines of what they do not all share deviate by 0.02 and less; by 0.1 and more otherwise.
HIDDEN, UNLIKE_COSINES, ALIKE_PART = 0.5, 0.1, 0.3
A_KIND = 0.5  # deviations above that from which the longest are looked at as a kind
MOVES = 8
TINY = 1e-12


@dataclass(frozen=True)
class Cut:
    """Two sides of the providers, and how unlike honest ones they are."""

    members: Mask  # [k] one side
    crispness: float  # of a cut by direction: 0 as honest ones may be, 1 as they are not
    alike: float | None = None  # of the longest ones: by how many deviations they are more alike than honest ones
    stage: float = 0.0  # how far the sides are stages of learning and no kinds, 0 to 1
    longer: bool = False  # whether the members are the longer side, and not the others
    hidden: float | None = None  # of a kind found where no root row reaches: its score, against that of honest ones

    def ahead(self, side: Mask) -> float:
        """How far a side is excused for being further on its way: the longer one, where the sides are stages."""
        return self.stage if self.holds(side) == self.longer else 0.0

    def holds(self, side: Mask) -> bool:
        """Whether that side is the members, and not the others."""
        return bool((side == self.members).all())


def find_cuts(gram: Floats, lengths: Floats) -> list[Cut]:
    """The cuts that deserve a look, from inner products of directions [k, k] and log lengths [k]."""
    if len(gram) < 2 * LEAST:
        return []
    rest = without_common(gram)
    cosines = to_cosines(rest)
    long, errors = longest(cosines, lengths)
    found: dict[bytes, Cut] = {}
    for start in [*_along_components(rest), long]:
        side = _named(settle(cosines, start))
        if _large(side) and (apart := separation(cosines, side)) >= APART:
            found[side.tobytes()] = Cut(side, _ramp(apart, COMMON, CRISP), None, *stage(gram, lengths, side))
    if np.ptp(lengths) > TINY and (alike := (errors - ALIKE) / ALIKE_SPREAD) >= A_KIND:
        found[b"long"] = Cut(long, 0.0, alike, *stage(gram, lengths, long))
    return list(found.values())


def find_hidden(gram: Floats, hidden: Floats) -> list[Cut]:
    """The kind with most in common where no root row reaches, by inner products there [k, k], if that is unusual."""
    if len(gram) < 2 * LEAST:
        return []
    seen, hidden = to_cosines(without_common(gram)), np.clip(hidden, -1.0, 1.0)
    starts = [*_along_components(hidden), *_trios(hidden)]
    sides = {side.tobytes(): side for start in starts if _large(side := _closer(hidden, settle(hidden, start)))}
    scored = [(hidden_score(seen, hidden, side), side) for side in sides.values()]
    score, side = max(scored, key=lambda pair: pair[0], default=(0.0, np.zeros(0, dtype=bool)))
    return [Cut(side, 0.0, hidden=(score - HIDDEN) / unlikeness(seen))] if score > HIDDEN else []


def unlikeness(cosines: Floats) -> float:
    """How unlike providers are, 1 where they hold other classes: as much unlike are honest kinds where nobody looks."""
    pairs = cosines[~np.eye(len(cosines), dtype=bool)]
    spread = 1.4826 * float(np.median(np.abs(pairs - np.median(pairs))))
    return min(max(spread / UNLIKE_COSINES, ALIKE_PART), 1.0)


def hidden_score(seen: Floats, hidden: Floats, side: Mask) -> float:
    """By how many deviations members stand out, times how much closer they are than elsewhere.

    Providers of the same classes are alike everywhere; a backdoor's members are alike only where it cannot be seen.
    """
    return separation(hidden, side) * max(0.0, closeness(hidden, side) - max(0.0, closeness(seen, side)))


def closeness(gram: Floats, side: Mask) -> float:
    """How much more two members have in common than a member and another one."""
    return within(gram, side) - float(gram[np.ix_(side, ~side)].mean())


def within(gram: Floats, side: Mask) -> float:
    """The mean inner product of two members."""
    part = gram[np.ix_(side, side)]
    return float(part.sum() - np.trace(part)) / max(int(side.sum()) * (int(side.sum()) - 1), 1)


def stage(gram: Floats, lengths: Floats, side: Mask) -> tuple[float, bool]:
    """(how far the sides of a cut are stages of learning, whether the side is the longer one).

    1 where those of the shorter side are the closer to the longer one the longer they are: closer by themselves, and
    closer than to their own side, since who has less noise is closer to everybody.
    """
    longer = bool(np.median(lengths[side]) > np.median(lengths[~side]))
    short = ~side if longer else side
    if short.sum() < TOLD or lengths[short].std() < UNLIKE:
        return 0.0, longer
    within = gram[np.ix_(short, short)]
    toward = gram[np.ix_(short, ~short)].mean(axis=1)
    among = (within.sum(axis=1) - np.diag(within)) / (short.sum() - 1)
    trend = min(rank_correlation(lengths[short], values) for values in (toward, toward - among))
    return _ramp(trend, KIND_TREND, STAGE_TREND), longer


def rank_correlation(a: Floats, b: Floats) -> float:
    """Spearman's, equals sharing their ranks; 0 where one of them is constant."""
    first, second = (ranks - ranks.mean() for ranks in (_ranks(a), _ranks(b)))
    spread = math.sqrt(float((first**2).sum() * (second**2).sum()))
    return float(first @ second) / spread if spread > 0 else 0.0


def _ranks(values: Floats) -> Floats:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places])


def longest(cosines: Floats, lengths: Floats) -> tuple[Mask, float]:
    """(the longest, as many as are most alike and at most half; by how many standard errors they are)."""
    order = np.argsort(-lengths, kind="stable")
    sides = [np.isin(np.arange(order.size), order[:count]) for count in range(LEAST, order.size // 2 + 1)]
    errors = [separation(cosines, side) / math.sqrt(1 / side.sum() + 1 / (~side).sum()) for side in sides]
    best = int(np.argmax(errors))
    return sides[best], errors[best]


def without_common(gram: Floats) -> Floats:
    """Inner products of what is left of the directions beside their common one, the mean [k, k].

    The mean's part is taken out of each, not the mean itself: who has more noise has less of the mean's direction, and
    must not look different for that.
    """
    along = gram.mean(axis=1)
    return np.asarray(gram - np.outer(along, along) / max(float(gram.mean()), TINY))


def to_cosines(gram: Floats) -> Floats:
    """Inner products divided by the lengths."""
    lengths = np.sqrt(np.maximum(np.diag(gram), TINY))
    return np.asarray(gram / np.outer(lengths, lengths))


def margins(cosines: Floats, side: Mask) -> Floats:
    """[k] how much closer each is to that side than to the other, on average over the others."""
    pairs = cosines - np.diag(np.diag(cosines))
    own = pairs[:, side].sum(axis=1) / np.maximum(side.sum() - side, 1)
    other = pairs[:, ~side].sum(axis=1) / np.maximum((~side).sum() - ~side, 1)
    return np.asarray(own - other)


def separation(cosines: Floats, side: Mask) -> float:
    """How many deviations lie between the margins of the two sides."""
    found = margins(cosines, side)
    inside, outside = found[side], found[~side]
    squares = float(((inside - inside.mean()) ** 2).sum() + ((outside - outside.mean()) ** 2).sum())
    return float(inside.mean() - outside.mean()) / math.sqrt(squares / max(len(found) - 2, 1) + 1e-18)


def settle(cosines: Floats, side: Mask) -> Mask:
    """The side after everybody went where it is closer, as often as it takes."""
    for _ in range(MOVES):
        if not _large(side):
            break
        found = margins(cosines, side)
        moved = found > (found[side].mean() + found[~side].mean()) / 2
        if (moved == side).all():
            break
        side = moved
    return side


def _along_components(gram: Floats) -> list[Mask]:
    vectors = np.linalg.eigh(gram)[1]
    return [_upper(vectors[:, -place]) for place in range(1, min(COMPONENTS, len(gram) - 1) + 1)]


def _trios(gram: Floats) -> list[Mask]:
    """Everybody with the two that it is closest to."""
    pairs = gram - np.diag(np.diag(gram)) - 2.0 * np.eye(len(gram))
    places = np.argsort(-pairs, axis=1, kind="stable")[:, : LEAST - 1]
    return [np.isin(np.arange(len(gram)), [i, *near]) for i, near in enumerate(places)]


def _closer(gram: Floats, side: Mask) -> Mask:
    """The side whose members have more in common."""
    return side if within(gram, side) >= within(gram, ~side) else ~side


def _upper(values: Floats) -> Mask:
    """The upper side of the best cut of values on a line."""
    order = np.argsort(values, kind="stable")
    place, _ = best_cut(values[order], least=LEAST)
    side = np.zeros(values.size, dtype=bool)
    side[order[place:]] = True
    return side


def _named(side: Mask) -> Mask:
    """One of the two sides of a cut, always the same."""
    return side if side[0] else ~side


def _large(side: Mask) -> bool:
    return bool(LEAST <= side.sum() <= side.size - LEAST)


def _ramp(value: float, low: float, high: float) -> float:
    return min(max((value - low) / (high - low), 0.0), 1.0)
