"""Whom an epoch is traded with, before the rule sees anybody.

A wallet costs nothing, and an ask is what somebody writes. So whoever alone asks for much of the reward is
not dealt with; and nobody is priced out by wallets that came later, or that ask for nothing. Newcomers share one part
of the reward and of the places, however many come; which of them get a place is drawn by lot. What a rule would spend
on more newcomers, it spends on those who are known.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from martfl.chain.state import price_of
from martfl.market.terms_parts import ReputationTerms

ROUNDING = 1e-4  # of the reward: prices are asks, rounded up to a 65536th of it
GUARDED = 1 / 4  # of the reward: up to here no swarm of wallets prices anybody out


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a market knows of a seller: the first epoch that listed it, and the last price that it was bought at."""

    since: int
    paid: int


@dataclass(frozen=True, kw_only=True)
class Admission:
    """The rule, and what it needs to know of the market."""

    terms: ReputationTerms
    reward: int
    ask: int  # that the terms propose

    def admit(self, prices: Mapping[str, int], *, known: Mapping[str, Standing], rng: np.random.Generator) -> set[str]:
        """Who may be bought.

        Nobody asks for more than `dearest` parts of the reward, or of the terms' ask where that is more. There are as
        many parts as sellers are known and newcomers have places. For who is known, those known as long alone count,
        and it may ask again what it was paid, both up to `GUARDED` of the reward. Newcomers' prices sum to at most
        `newcomers` of the reward, and none takes more than a place's part of that. Where nobody is known, all come.
        """
        old = {name: known[name] for name in prices if name in known}
        new = {name: prices[name] for name in sorted(set(prices) - set(old))}
        if not old:
            most = self._most(_first_part(new.values(), self.reward))
            return {name for name, price in new.items() if price <= most}
        places, share = self._places(len(old), len(new)), self.terms.newcomers * self.reward
        part = self.reward / (len(old) + places)
        fair = {name for name, one in old.items() if prices[name] <= self._ceiling(one, old.values(), part)}
        most = min(max(share / max(1, places), self.ask) + ROUNDING * self.reward, self._most(part))
        return fair | _drawn({name: price for name, price in new.items() if price <= most}, places, share, rng)

    def _ceiling(self, one: Standing, others: Collection[Standing], part: float) -> float:
        """The most that a known seller may ask: who came after it makes it no smaller, up to what is guarded.

        Beyond that they do: who was alone once, and had the whole reward, does not keep it from those who come.
        """
        guarded = GUARDED * self.reward
        as_long = self.reward / sum(other.since <= one.since for other in others)
        paid = price_of(min(one.paid, self.reward), self.reward)
        return max(self._most(max(part, min(as_long, guarded))), min(paid, guarded))

    def _most(self, part: float) -> float:
        return self.terms.dearest * max(part, self.ask) + ROUNDING * self.reward

    def _places(self, old: int, new: int) -> int:
        """For newcomers: about their share of the sellers."""
        share = self.terms.newcomers
        return new if share >= 1 else min(new, math.ceil(share / (1 - share) * old))


def _first_part(prices: Iterable[int], reward: int) -> float:
    """A part of the reward where nobody is known: an equal one, or more where others ask for less.

    The largest p up to `GUARDED` of the reward with Σ min(p, price) ≤ reward: if all were paid what they ask, and p at
    most, the reward would do. So who asks for nothing makes no part smaller, and who asks for much, its own as well.
    """
    left, rising = float(reward), sorted(prices)
    equal = left / max(1, len(rising))
    for i, price in enumerate(rising):
        if price * (len(rising) - i) >= left:
            return max(equal, min(left / (len(rising) - i), GUARDED * reward))
        left -= price
    return max(equal, GUARDED * reward)


def _drawn(prices: Mapping[str, int], places: int, left: float, rng: np.random.Generator) -> set[str]:
    drawn = set[str]()
    for name in rng.permutation(list(prices)).tolist():
        if len(drawn) < places and prices[name] <= left:
            drawn.add(name)
            left -= prices[name]
    return drawn
