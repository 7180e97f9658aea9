"""Whom an epoch is traded with, before the rule sees anybody.

A wallet costs nothing, and an ask is what somebody writes. So nobody is dealt with who asks for much of the reward
alone. Newcomers have a part of the reward and of the places, however many come; who of them, is drawn by lot. What a
rule would spend on more newcomers, it spends on those who are known.
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

        Nobody asks more than `dearest` equal parts of the reward, or of the terms' asks where those are more; parts are
        counted by who is known, so that a swarm cannot make them small.
        Newcomers' prices sum to at most `newcomers` of the reward, and they are about that share of the sellers, too.
        Where nobody is known, all have places.
        """
        old = {name for name in prices if name in known}
        most = self.terms.dearest * max(self.reward / max(1, len(old or prices)), self.ask)
        fair = {name for name, price in prices.items() if price <= most + ROUNDING * self.reward}
        if not old:
            return fair
        return (old & fair) | self._drawn({name: prices[name] for name in sorted(fair - old)}, len(old), rng)

    def _drawn(self, prices: Mapping[str, int], old: int, rng: np.random.Generator) -> set[str]:
        share, drawn = self.terms.newcomers, set[str]()
        places = math.inf if share >= 1 else math.ceil(share / (1 - share) * old)
        left = share * self.reward
        for name in rng.permutation(list(prices)).tolist():
            if len(drawn) < places and prices[name] <= left:
                drawn.add(name)
                left -= prices[name]
        return drawn
