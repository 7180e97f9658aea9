"""Whom the terms' rule keeps, at which weight, and what each kept update added: decided, and put into the journal."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from martfl.market.desk import Desk
from martfl.market.steps import Judged, Selected
from martfl.market.terms_parts import SelectionTerms
from martfl.selection import Reason, Selection, Strategy, make_strategy, sentence
from martfl.selection.strategy import State
from martfl.valuation import Account, Appraisal, ByValue, appraisals


@dataclass(frozen=True)
class Decided:
    """One epoch's decision."""

    selection: Selection
    values: Mapping[str, Appraisal] = field(default_factory=dict)  # of whoever was valued


def make_rule(terms: SelectionTerms) -> Strategy:
    """The rule that the terms name; where they say so, its weights go by what updates add."""
    inner = make_strategy(terms.rule, **terms.options)
    return inner if terms.value == "none" else ByValue(inner=inner)


def trade(strategy: Strategy, state: State, desk: Desk, rng: np.random.Generator) -> tuple[State, Decided]:
    """Score, buy and weigh; returns what is known afterwards."""
    if not isinstance(strategy, ByValue):
        after, selection = strategy.trade(state, desk, rng)
        return after, Decided(selection)
    after, selection, valued = strategy.trade_and_value(state, desk, rng)
    names = _entered(state.account, after.account, desk)
    return after, Decided(selection, dict(zip(names, appraisals(valued), strict=True)))


def described(rule: str, decided: Decided, desk: Desk) -> Selected:
    """The decision as the journal keeps it."""
    return Selected(
        rule=rule,
        baselines=len(desk.baselines),
        judged={name: _judged(decided, i, name) for i, name in enumerate(desk.providers)},
        traffic=desk.asking.traffic(),
    )


def _judged(decided: Decided, i: int, name: str) -> Judged:
    selection, reason = decided.selection, decided.selection.reasons[i]
    return Judged(
        score=None if np.isnan(selection.scores[i]) else round(float(selection.scores[i]), 2),
        weight=float(selection.weights[i]),
        role=reason.role.value,
        reason=reason.code.value,
        facts=_facts(reason),
        words=sentence(reason),
        value=decided.values.get(name),
    )


def _facts(reason: Reason) -> dict[str, float]:
    return {fact: number for fact, number in reason.data.items() if np.isfinite(number)}


def _entered(before: Account, after: Account, desk: Desk) -> list[str]:
    """Who was valued, in the order of the providers: an epoch enters a new record for each of them, and no other."""
    return [name for name in desk.providers if after.records.get(name) is not before.records.get(name)]
