"""Nobody gains by breaking the rules: every strategy of `martfl bench exchange`, played with real roles."""

import pytest

from martfl.bench import exchange
from martfl.bench.exchange import sellers
from martfl.bench.exchange.play import STRATEGIES

LONG = (
    "oracle",
    "forgers",
    "swarm",
    "garbage",
    "keys ",
    "twin",
    "judged by",
    "fresh wallet",
)  # several epochs, or many wallets
FAIR = [
    pytest.param(one, marks=pytest.mark.long if any(word in one.name for word in LONG) else (), id=one.name)
    for one in STRATEGIES
    if not one.limit
]
LIMITS = [one for one in STRATEGIES if one.limit]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """A flood of a few: what it costs does not depend on how many there are."""
    monkeypatch.setattr(sellers, "MANY", 4)


@pytest.mark.parametrize("strategy", FAIR)
def test_no_coalition_gains_and_no_honest_seller_is_short(strategy):
    outcome = strategy.play()
    assert outcome.gain <= 0
    assert outcome.short <= 0


@pytest.mark.parametrize("strategy", LIMITS, ids=lambda one: one.name)
def test_limits_that_are_stated_are_real(strategy):
    """Where one of these no longer succeeds, the page that states it should say so."""
    assert strategy.play().gain > 0


def test_names_are_told_apart_and_a_report_has_them():
    names = [one.name for one in STRATEGIES]
    assert len(set(names)) == len(names)
    told = []
    report = exchange.bench_exchange(matching="purchases at price 0", tell=told.append)
    assert [one.name for one in report.strategies] == told == ["purchases at price 0"]
