"""The market's own valuation, and the lab's rules, as ways to pay."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from martfl.errors import InputError
from martfl.lab.rules.base import Rule
from martfl.lab.valuers.base import Offer, State
from martfl.valuation import Account, Information, value_updates


@dataclass(frozen=True)
class ByInformation:
    """By what an update adds: `martfl.valuation`."""

    rule: Information = field(default_factory=Information)

    def start(self) -> Account:
        """Nothing is known."""
        return self.rule.start()

    def value(self, state: Account, offer: Offer) -> tuple[Account, np.ndarray]:
        """The weights of aggregation."""
        after, valued = value_updates(
            self.rule,
            state,
            names=offer.names,
            updates=list(offer.updates),
            model=offer.model,
            goodness=offer.goodness,
            rng=offer.rng,
        )
        return after, valued.weights


@dataclass(frozen=True)
class ByRule:
    """By the weights of a rule of the lab, which may leave some out."""

    rule: Rule

    def start(self) -> State:
        """As the rule."""
        return self.rule.init()

    def value(self, state: State, offer: Offer) -> tuple[State, np.ndarray]:
        """The rule's weights."""
        if offer.view is None:
            raise InputError(f"rule {self.rule.name!r} pays by a whole round, and this offer has none")
        after, decision = self.rule.step(state, offer.view)
        return after, decision.weights
