"""claim_reward: everybody takes its own, once, to the wei."""

import pytest

from martfl.chain.events import Claimed


def test_settled_epoch_pays_by_weight(market):
    market.settled()
    state = market.state()
    unit = state.reward // 65_536
    assert market.claim_all() == {
        market.names[0]: unit * 40_000,
        market.names[1]: unit * 20_000,
        market.names[2]: unit * 5_536,
        market.acquirer.address: state.penalty + state.reward % 65_536,
    }
    assert market.held() == 0


def test_says_so(market):
    market.settled()
    expected = market.standing(0).claimable
    done = market.trading.claim_reward(1, account=market.providers[0])
    assert done.events == (Claimed(epoch=1, party=market.names[0], amount=expected),)
    assert market.standing(0).claimed
    assert market.standing(0).claimable == 0


def test_once(market):
    market.settled()
    market.claim(market.providers[0])
    market.claim(market.acquirer)
    for account in (market.providers[0], market.acquirer):
        with market.refused("nothing to claim"):
            market.claim(account)
    assert market.state().refunded
    assert market.trading.refundable(1) == 0


def test_not_before_the_end(market):
    for step in (market.open, lambda: market.commit(0), market.close_commitments, lambda: market.prepare({0: 65_536})):
        step()
        with market.refused("epoch is not settled"):
            market.claim(market.providers[0])
    market.publish()
    with market.refused("epoch is not settled"):
        market.claim(market.acquirer)
    assert market.trading.refundable(1) == 0
    assert market.standing(0).claimable == 0


def test_unknown_epoch(market):
    market.epoch = 1
    with market.refused("epoch is not settled"):
        market.claim(market.acquirer)


def test_strangers_and_the_unbought_get_nothing(market):
    market.settled({0: 65_536})
    for account in (market.stranger, market.providers[1]):
        with market.refused("nothing to claim"):
            market.claim(account)


def test_old_epochs_stay_claimable(market):
    first = market.settled({0: 65_536})
    market.settled({0: 65_536})
    market.claim(market.providers[0])
    market.epoch = first
    assert market.claim(market.providers[0]) == market.state().reward // 65_536 * 65_536


def test_epochs_are_paid_apart(market):
    market.settled({0: 65_536})
    market.claim_all()
    assert market.held() == 0
    market.settled({1: 65_536})
    with market.refused("nothing to claim"):
        market.claim(market.providers[0])


@pytest.mark.parametrize("amount", [1_000, 98_303, 98_304, 2**64 + 1])
def test_conserved_whatever_the_rounding(market, amount):
    market.committed(amount)
    market.advance(2)
    market.prepare({0: 65_535, 1: 1})
    market.publish()
    market.pass_deadline()
    paid = market.claim_all()
    assert sum(paid.values()) == amount + market.fee
    assert market.held() == 0
    assert paid[market.acquirer.address] - market.state().penalty < 65_536
