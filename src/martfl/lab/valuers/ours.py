"""The market's own valuation, and the lab's rules, as ways to pay."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from martfl.errors import InputError
from martfl.lab.rules.base import Rule
from martfl.lab.valuers.base import PaidRound, State
from martfl.valuation import Account, Information, value_updates


@dataclass(frozen=True)
class ByInformation:
    """By what an update adds: `martfl.valuation`."""

    rule: Information = field(default_factory=Information)

    def start(self) -> Account:
        """Nothing is known."""
        return self.rule.start()

    def value(self, state: Account, paid: PaidRound) -> tuple[Account, np.ndarray]:
        """The weights of aggregation."""
        after, valued = value_updates(
            self.rule,
            state,
            names=paid.names,
            updates=list(paid.updates),
            model=paid.model,
            goodness=paid.goodness,
            rng=paid.rng,
            even=paid.even,
            focus=paid.focus,
        )
        return after, valued.weights


@dataclass(frozen=True)
class ByRule:
    """By the weights of a rule of the lab, which may leave some out."""

    rule: Rule

    def start(self) -> State:
        """As the rule."""
        return self.rule.init()

    def value(self, state: State, paid: PaidRound) -> tuple[State, np.ndarray]:
        """The rule's weights."""
        if paid.view is None:
            raise InputError(f"rule {self.rule.name!r} pays by a whole round, and only the updates are given here")
        after, decision = self.rule.step(state, paid.view)
        return after, decision.weights
