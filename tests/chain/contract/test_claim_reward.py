"""claim_reward: everybody takes its own, once, to the unit."""

import pytest

from martfl.chain.events import Claimed, Refunded
from martfl.chain.state import Phase, SaleState


def test_settled_epoch_pays_prices_and_the_rest_by_weight(market):
    market.settled({0: 40_000, 1: 20_000, 2: 5_536})
    state = market.state()
    prices = [market.price(i) for i in range(3)]
    bonus = state.reward - sum(prices)
    dues = [price + bonus * k // 65_536 for price, k in zip(prices, (40_000, 20_000, 5_536), strict=True)]
    paid = market.claim_all()
    assert [paid[seller.name] for seller in market.sellers] == dues
    assert paid[market.acquirer.address] == state.deposit - sum(dues)
    assert 0 <= paid[market.acquirer.address] - state.penalty < 3
    assert market.held() == 0


def test_small_rewards_are_not_lost_to_rounding(make_market):
    """A reward below 65536 units is shared all the same."""
    market = make_market(asks=(0, 0), providers=2)
    market.bought(0, 1, amount=90_000)
    market.publish({0: 40_000, 1: 25_536})
    assert market.state().reward == 60_000
    assert market.claim(market.sellers[0].account) == 60_000 * 40_000 // 65_536 == 36_621
    assert market.claim(market.sellers[1].account) == 60_000 * 25_536 // 65_536


def test_says_so(market):
    market.settled()
    name, expected = market.sellers[0].name, market.standing(0).claimable
    done = market.trading.claim_reward(1, account=market.sellers[0].account)
    assert done.events == (Claimed(epoch=1, provider=name, receiver=name, amount=expected),)
    assert (market.standing(0).state, market.standing(0).claimable) == (SaleState.CLAIMED, 0)
    refund = market.state().refundable
    done = market.trading.claim_reward(1, account=market.acquirer)
    assert done.events == (Refunded(epoch=1, amount=refund),)
    assert (market.state().refundable, market.state().refunded) == (0, True)


def test_once(market):
    market.settled()
    accounts = (market.sellers[0].account, market.acquirer)
    for account in accounts:
        market.claim(account)
    for account in accounts:
        with market.refused("nothing to claim"):
            market.claim(account)


def test_not_before_the_end(market):
    market.lies(2)
    steps = [market.open, market.relay, lambda: market.after("commit"), market.buy, lambda: market.buy(0, 1, 2)]
    steps += [lambda: market.reveal(2), lambda: market.publish({0: 65_536}), lambda: market.accept(1)]
    for step in steps:
        step()
        for account in (market.acquirer, market.sellers[0].account, market.sellers[2].account):
            with market.refused("epoch is not final"):
                market.claim(account)
        assert market.state().refundable == market.standing(0).claimable == 0
    market.refute(2)
    assert market.state().phase == Phase.SETTLED
    market.claim(market.sellers[0].account)


@pytest.mark.parametrize("end", ["settled", "failed", "empty"])
def test_to_the_second(market, end, to_the_second):
    market.committed()
    if end != "empty":
        market.buy(0, 1)
    if end == "settled":
        market.publish({0: 65_536})
    last = {"settled": "keys", "failed": "publish", "empty": "buy"}[end]
    market.last_second(last)
    with market.refused("epoch is not final"):
        market.claim(market.acquirer)
    market.after(last)
    market.claim(market.acquirer)
    assert market.state().phase.name.lower() == end


def test_failed_epoch_pays_who_delivered_and_keeps_the_penalty_from_everybody(market):
    market.bought()
    market.accept(0)
    market.reveal(1)
    market.after("publish")
    paid = market.claim_all()
    state = market.state()
    assert paid == {
        market.sellers[0].name: market.price(0),
        market.sellers[1].name: market.price(1),
        market.acquirer.address: state.reward - market.price(0) - market.price(1),
    }
    assert market.held() == state.penalty
    market.open(5_000)
    market.epoch = 1
    assert market.claim_all() == {}
    assert market.held() == state.penalty + 5_000


def test_empty_epoch_returns_everything(market):
    market.committed()
    market.after("buy")
    assert market.claim_all() == {market.acquirer.address: market.amount}
    assert market.held() == 0


def test_silent_sellers_cost_the_acquirer_nothing(market):
    market.bought()
    market.publish({})
    market.after("keys")
    assert market.claim_all() == {market.acquirer.address: market.amount}


def test_refuted_price_returns_to_the_acquirer_and_to_nobody_else(market):
    market.lies(1)
    market.bought()
    market.reveal(1)
    market.refute(1)
    market.publish({0: 32_768, 2: 32_768})
    bonus = market.state().reward - market.state().spent
    paid = market.claim_all()
    assert paid[market.sellers[0].name] == market.price(0) + bonus // 2
    assert paid[market.sellers[2].name] == market.price(2) + bonus // 2
    assert market.sellers[1].name not in paid
    assert sum(paid.values()) == market.amount


@pytest.mark.parametrize("epoch", [0, 1, 2**255])
def test_unknown_epoch(market, epoch):
    market.epoch = epoch
    for account in (market.acquirer, market.sellers[0].account):
        with market.refused("nothing to claim"):
            market.claim(account)


def test_strangers_the_unbought_and_the_silent_get_nothing(market):
    market.bought(0, 1)
    market.publish({0: 65_536})
    market.after("keys")
    for account in (market.stranger, market.sellers[1].account, market.sellers[2].account):
        with market.refused("nothing to claim"):
            market.claim(account)


def test_old_epochs_stay_claimable_and_are_paid_apart(market):
    market.settled({0: 65_536})
    market.settled({0: 65_536})
    second = market.claim(market.sellers[0].account)
    market.epoch = 1
    assert market.claim(market.sellers[0].account) == second
    with market.refused("nothing to claim"):
        market.claim(market.sellers[1].account)


@pytest.mark.parametrize("amount", [1_000, 98_303, 98_304, 2**64 + 1])
@pytest.mark.parametrize("weights", [{0: 65_535, 1: 1}, {0: 21_846, 1: 21_845, 2: 21_845}, {0: 65_536}])
def test_conserved_whatever_the_rounding(make_market, amount, weights):
    market = make_market(asks=(7, 0, 331))
    market.bought(*weights, amount=amount)
    market.publish(weights)
    paid = market.claim_all()
    assert sum(paid.values()) == amount
    assert market.held() == 0
    assert 0 <= paid[market.acquirer.address] - market.state().penalty < len(weights)
