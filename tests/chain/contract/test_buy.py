"""buy: the acquirer locks what a provider asks, against the digest that the provider committed to."""

from dataclasses import replace

import pytest
from eth_abi import encode
from eth_utils import keccak

from martfl.chain.events import Bought
from martfl.chain.state import SaleState, price_of


def test_locks_the_ask_and_says_so(market):
    market.committed()
    done = market.buy(0, 2)
    names = [market.sellers[i].name for i in (0, 2)]
    assert done.events == (Bought(epoch=1, providers=tuple(names)),)
    assert market.trading.bought(1) == names
    state = market.state()
    assert (state.bought, state.silent, state.revealed, state.delivered) == (2, 2, 0, 0)
    assert state.spent == market.price(0) + market.price(2) <= state.reward
    for i in (0, 2):
        standing, ask = market.standing(i), market.sellers[i].offer.ask
        assert (standing.state, standing.price, standing.weight) == (SaleState.BOUGHT, market.price(i), 0)
        assert ask <= standing.price < ask + state.reward / 65_536 + 1
        assert standing.claimable == 0
    assert market.standing(1).state == SaleState.COMMITTED


def test_as_often_as_the_acquirer_likes(market):
    market.committed()
    for i in range(3):
        market.buy(i)
    market.buy()
    assert (market.state().bought, len(market.trading.bought(1))) == (3, 3)
    assert market.state().spent == sum(market.price(i) for i in range(3))


def test_only_the_acquirer(market):
    market.committed()
    with market.refused("only the acquirer"):
        market.buy(0, account=market.stranger)


def test_after_the_commit_window_and_within_the_buy_window(market, to_the_second):
    market.open()
    market.relay()
    market.last_second("commit")
    with market.refused("commitments are still open"):
        market.buy(0)
    market.after("commit")
    market.buy(0)
    market.last_second("buy")
    market.buy(1)
    with market.refused("too late"):
        market.buy(2)


def test_not_after_publication(market):
    market.published({0: 65_536})
    with market.refused("wrong phase"):
        market.buy(1)


def test_unknown_epoch(market):
    market.epoch = 1
    with market.refused("wrong phase"):
        market.buy(0)


def test_not_twice(market):
    market.committed()
    with market.refused("not the offer that was committed to"):
        market.buy(0, 0)
    market.buy(0)
    with market.refused("not the offer that was committed to"):
        market.buy(0)


@pytest.mark.parametrize("field", ["provider", "commitment", "root", "key_hash", "ask"])
def test_only_what_was_committed_to(market, field):
    market.committed()
    mine, other = market.sellers[0].offer, market.sellers[1].offer
    values = [mine.ask - 1, 0] if field == "ask" else []
    for value in (getattr(other, field), *values):
        with market.refused("not the offer that was committed to"):
            market.buy(offers=[replace(mine, **{field: value})])
    market.buy(0)


def test_offer_of_another_epoch_is_refused(market):
    market.bought(0)
    market.publish({0: 65_536})
    market.open()
    old = market.digest_of(market.sellers[1].offer, epoch=1)
    market.commit(1, digest=old)
    market.after("commit")
    with market.refused("not the offer that was committed to"):
        market.buy(1)


def test_copied_digest_opens_nothing(market):
    """A digest holds the wallet's name: whoever posts another's cannot be bought with it."""
    market.open()
    market.commit(1, digest=market.digest(0))
    market.commit(0)
    market.after("commit")
    with market.refused("not the offer that was committed to"):
        market.buy(offers=[replace(market.sellers[0].offer, provider=market.sellers[1].name)])
    with market.refused("not the offer that was committed to"):
        market.buy(1)
    market.buy(0)


def test_who_did_not_commit_is_refused(market):
    market.open()
    market.commit(0)
    market.after("commit")
    with market.refused("not the offer that was committed to"):
        market.buy(0, 1)
    assert market.state().bought == 0


def test_asks_within_the_reward(make_market):
    market = make_market(asks=(2_000, 1, 2_001))
    market.committed(3_000)
    with market.refused("ask exceeds the reward"):
        market.buy(2)
    with market.refused("prices exceed the reward"):
        market.buy(0, 1)
    market.buy(0)
    assert market.state().spent == market.state().reward == 2_000
    with market.refused("prices exceed the reward"):
        market.buy(1)


def test_an_ask_beyond_every_bound_is_refused(market):
    market.open()
    offer = market.sellers[0].offer
    huge = (offer.provider, offer.commitment_hash, offer.seal, 2**256 - 1)
    types = ["uint256", "address", "uint256", "address", "bytes32", "bytes32", "uint256"]
    market.commit(0, digest=keccak(encode(types, [market.chain.chain_id, market.trading.address, 1, *huge])))
    market.after("commit")
    with market.refused("ask exceeds the reward"):
        market.chain.send(market.trading.contract.functions.buy(1, [huge]), account=market.acquirer)


@pytest.mark.parametrize("deposit", [1_000, 1_500, 98_303, 98_304, 98_305, 10**18])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_price_is_the_smallest_part_that_covers_the_ask(make_market, deposit, share):
    reward = deposit * 10_000 // 15_000
    ask = int(reward * share)
    market = make_market(asks=(ask,), providers=1)
    market.bought(0, amount=deposit)
    price = market.standing(0).price
    units = next(u for u in range(ask * 65_536 // reward, 65_537) if reward * u // 65_536 >= ask)
    assert price == price_of(ask, reward) == reward * units // 65_536
    assert ask <= price <= reward


def test_nothing_is_bought_where_one_offer_is_bad(market):
    market.committed()
    with market.refused("not the offer that was committed to"):
        market.buy(0, 1, 1)
    assert market.standing(0).state == SaleState.COMMITTED
    assert (market.state().bought, market.state().spent) == (0, 0)
