"""Whom an epoch is traded with: laws of the rule, and what a swarm of wallets does to known sellers."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from martfl.chain.state import price_of
from martfl.market.admission import GUARDED, ROUNDING, Admission, Standing
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.market.terms_parts import ReputationTerms

REWARD, ASK = 1000, 10
NAMES = st.sampled_from("abcdefghijkl")
PRICES = st.dictionaries(NAMES, st.integers(0, REWARD), max_size=20)
KNOWN = st.dictionaries(NAMES, st.builds(Standing, since=st.integers(1, 5), paid=st.integers(0, REWARD)))
SLACK = ROUNDING * REWARD


def admit(prices, known=None, *, newcomers=0.5, dearest=1.0, reward=REWARD, seed=0):
    terms = ReputationTerms(newcomers=newcomers, dearest=dearest)
    admission = Admission(terms=terms, reward=reward, ask=ASK)
    return admission.admit(prices, known=known or {}, rng=np.random.default_rng(seed))


@given(prices=PRICES, known=KNOWN, share=st.floats(0.01, 1.0), seed=st.integers(0, 99))
def test_newcomers_have_their_part_of_reward_and_places(prices, known, share, seed):
    old = set(prices) & set(known)
    assume(old)
    new = admit(prices, known, newcomers=share, seed=seed) - set(known)
    assert sum(prices[name] for name in new) <= share * REWARD
    assert share == 1 or len(new) < share / (1 - share) * len(old) + 1


@given(prices=PRICES, known=KNOWN, later=PRICES, standings=st.data())
def test_who_came_later_prices_nobody_out(prices, known, later, standings):
    """Newcomers, or wallets that became known after a seller: whatever they ask, and however many they are."""
    newest = max((one.since for one in known.values()), default=0)
    late = st.builds(Standing, since=st.integers(newest + 1, newest + 3), paid=st.integers(0, REWARD))
    later = {f"late {name}": price for name, price in later.items()}
    more = standings.draw(st.dictionaries(st.sampled_from([*sorted(later), "late"]), late))
    guarded = {name for name in prices if name in known and prices[name] <= GUARDED * REWARD}
    assert admit(prices, known) & guarded <= admit({**later, **prices}, {**more, **known})


@given(prices=PRICES, known=KNOWN, dearest=st.floats(0.01, 3.0), reward=st.integers(REWARD // 2, 2 * REWARD))
def test_who_was_paid_a_price_may_ask_for_it_again(prices, known, dearest, reward):
    asks = {name: known[name].paid if name in known else ask for name, ask in prices.items()}
    locked = {name: price_of(min(ask, reward), reward) for name, ask in asks.items()}
    guarded = {name for name in prices if name in known and locked[name] <= GUARDED * reward}
    assert guarded <= admit(locked, known, dearest=dearest, reward=reward)


@given(others=st.integers(3, 9), paid=st.integers(0, REWARD), ask=st.integers(251, REWARD))
def test_who_was_alone_once_does_not_keep_the_reward_from_those_who_come(others, paid, ask):
    known = {
        "first": Standing(since=1, paid=paid),
        **{f"seller {i}": Standing(since=2, paid=10) for i in range(others)},
    }
    assert "first" not in admit(dict.fromkeys(known, 10) | {"first": ask}, known)


@given(prices=PRICES, known=KNOWN, dearest=st.floats(0.01, 3.0))
def test_the_terms_ask_is_never_priced_out(prices, known, dearest):
    chosen = admit(prices, known, dearest=dearest)
    counted = {name for name in prices if name in known} or set(prices)
    assert {name for name in counted if prices[name] <= dearest * ASK} <= chosen


@given(asks=st.lists(st.integers(0, REWARD), min_size=1, max_size=20), free=st.integers(0, 50))
def test_where_nobody_is_known_wallets_that_ask_nothing_shrink_no_part(asks, free):
    """And all that are dealt with could be paid, but for those whose equal part it is."""
    prices = {f"seller {i}": ask for i, ask in enumerate(asks)}
    swarm = {f"wallet {i}": 0 for i in range(free)}
    within = {name for name in admit(prices) if prices[name] <= REWARD / 4}
    chosen = admit({**prices, **swarm})
    assert within <= chosen and set(swarm) <= chosen
    assert sum(prices[name] for name in chosen & set(prices)) <= REWARD + len(asks) * SLACK


def test_a_known_seller_may_not_raise_its_price_by_roundings():
    known = {"old": Standing(since=1, paid=300), "other": Standing(since=1, paid=0), "new": Standing(since=1, paid=0)}
    asks = {"old": 334, "other": 0, "new": 0}
    assert "old" not in admit(asks, known)
    assert "old" in admit({**asks, "old": 333}, known)


@pytest.mark.long
@pytest.mark.parametrize("late", [False, True])
def test_a_swarm_that_asks_for_nothing_prices_nobody_out(build, late):
    """Neither where nobody is known, nor once sellers are: who was paid a price is still bought at it."""

    class Swarm(Provider):
        def train(self, request):
            if late and request.epoch == 1:
                raise MarketError("not there yet")
            return super().train(request)

    asks = {**dict.fromkeys((0, 1), 24 * 10**16), **dict.fromkeys(range(2, 6), 0)}
    market = build(providers=6, asks=asks, rows=50, cheats=dict.fromkeys(range(2, 6), Swarm))
    market.run(3)
    for epoch in (1, 2, 3):
        assert set(market.names[:2]) <= set(market.outcome(epoch)["bought"])
        market.check_honest((0, 1), epoch=epoch)
