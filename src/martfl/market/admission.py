"""Whom an epoch is traded with, before the rule sees anybody.

A wallet costs nothing, and an ask is what somebody writes. So whoever alone asks for much of the reward is
not dealt with. Newcomers share one part of the reward and of the places, however many come; which of them get a place
is drawn by lot. What a rule would spend on more newcomers, it spends on those who are known.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from martfl.market.terms_parts import ReputationTerms

ROUNDING = 1e-4  # of the reward: prices are asks, rounded up to a 65536th of it


@dataclass(frozen=True, kw_only=True)
class Admission:
    """The rule, and what it needs to know of the market."""

    terms: ReputationTerms
    reward: int
    ask: int  # that the terms propose

    def admit(self, prices: Mapping[str, int], *, known: Collection[str], rng: np.random.Generator) -> set[str]:
        """Who may be bought.

        Nobody asks for more than `dearest` equal parts of the reward, or of the terms' ask where that is more. There
        are as many parts as sellers; newcomers count as far as they have places, so no swarm makes parts small.
        Newcomers' prices sum to at most `newcomers` of the reward, and no place takes more than its part of that.
        Where nobody is known, all have places.
        """
        old = {name for name in prices if name in known}
        new = {name: prices[name] for name in sorted(set(prices) - old)}
        places = self._places(len(old), len(new))
        most = self.terms.dearest * max(self.reward / max(1, len(old) + places), self.ask)
        fair = {name for name in old if prices[name] <= most + ROUNDING * self.reward}
        if not old:
            return {name for name, price in new.items() if price <= most + ROUNDING * self.reward}
        share = self.terms.newcomers * self.reward
        part = min(most, max(share / max(1, places), self.ask)) + ROUNDING * self.reward
        return fair | _drawn({name: price for name, price in new.items() if price <= part}, places, share, rng)

    def _places(self, old: int, new: int) -> int:
        """For newcomers: about their share of the sellers."""
        share = self.terms.newcomers
        return new if not old or share >= 1 else min(new, math.ceil(share / (1 - share) * old))


def _drawn(prices: Mapping[str, int], places: int, left: float, rng: np.random.Generator) -> set[str]:
    drawn = set[str]()
    for name in rng.permutation(list(prices)).tolist():
        if len(drawn) < places and prices[name] <= left:
            drawn.add(name)
            left -= prices[name]
    return drawn
