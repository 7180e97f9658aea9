"""read_epoch, read_provider and the other views: what an epoch is in this second."""

import pytest
from exact_market import model_digest
from web3.exceptions import Web3Exception

from martfl.chain.network import ChainError
from martfl.chain.state import Phase, SaleState


def test_unknown_epoch(market):
    for epoch in (0, 1):
        with pytest.raises((Web3Exception, ChainError), match="no such epoch"):
            market.trading.read_epoch(epoch)


@pytest.mark.parametrize("ending", ["empty", "failed", "settled"])
def test_phase_follows_clock_and_calls(market, ending, to_the_second):
    market.open()
    market.relay()
    phases = [(market.deadline("commit"), Phase.OPEN), (market.deadline("commit") + 1, Phase.TRADING)]
    if ending == "empty":
        phases += [(market.deadline("buy"), Phase.TRADING), (market.deadline("buy") + 1, Phase.EMPTY)]
    check(market, phases)
    if ending == "empty":
        return
    market.buy(0, 1)
    if ending == "failed":
        last = market.deadline("publish")
        check(market, [(market.deadline("keys"), Phase.TRADING), (last, Phase.TRADING), (last + 1, Phase.FAILED)])
        return
    market.publish({0: 65_536})
    last = market.deadline("keys")
    check(market, [(last - 1, Phase.STANDING), (last, Phase.STANDING), (last + 1, Phase.SETTLED)])


def check(market, phases):
    for second, phase in phases:
        market.chain.travel_to(second)
        assert market.state().phase == phase, second - market.state().opened


def test_a_key_that_may_be_refuted_keeps_the_epoch_open(market, to_the_second):
    market.bought()
    market.reveal(1)
    market.publish({0: 65_536})
    last = market.deadline("publish")
    check(market, [(market.deadline("keys") + 1, Phase.STANDING), (last, Phase.STANDING), (last + 1, Phase.SETTLED)])


def test_provider_without_part_in_it(market):
    market.open()
    standing = market.trading.read_provider(1, market.stranger.address)
    assert (standing.state, standing.price, standing.weight, standing.claimable) == (SaleState.ABSENT, 0, 0, 0)
    assert market.trading.read_provider(7, market.sellers[0].name).state == SaleState.ABSENT


def test_provider_all_the_way(market):
    states = []
    market.lies(2)
    steps = [
        market.open,
        market.relay,
        lambda: (market.after("commit"), market.buy(0, 1, 2)),
        lambda: market.accept(1),
        lambda: market.reveal(2),
        lambda: market.publish({0: 65_536}),
        lambda: market.refute(2),
        lambda: market.claim_for(0, 1, 2),
    ]
    for step in steps:
        step()
        states.append("".join(market.standing(i).state.name[:2] for i in range(3)))
    absent, committed, bought = "ABABAB", "COCOCO", "BOBOBO"
    assert states == [absent, committed, bought, "BOACBO", "BOACRE", "LIACRE", "LIACRE", "CLCLRE"]
    assert market.standing(2).state == SaleState.REFUTED
    assert [market.standing(i).price for i in range(3)] == [market.price(i) for i in range(3)]


def test_claimable_is_what_the_claim_pays(market):
    market.bought()
    market.accept(1)
    market.publish({0: 65_536})
    market.past("keys")
    expected = {market.sellers[i].name: market.standing(i).claimable for i in (0, 1)}
    expected[market.acquirer.address] = market.state().refundable
    assert market.claim_all() == expected
    assert sum(expected.values()) == market.amount


def test_model_is_that_of_the_latest_epoch_that_stands(market):
    first = model_digest(market.initial)
    assert market.standing_digest() == first
    market.bought()
    assert market.standing_digest() == first
    market.publish({0: 65_536})
    second = model_digest(market.trading.model(1))
    assert market.standing_digest() == second != first
    market.open()
    assert market.standing_digest() == second
    market.past("buy")
    assert market.standing_digest() == second
    market.bought()
    market.past("publish")
    assert market.standing_digest() == second


def test_deadlines_follow_from_the_second_of_opening(market):
    market.open()
    opened, found = market.state().opened, market.trading.deadlines(1)
    seconds = [found.commit, found.buy, found.keys, found.publish]
    assert seconds == [opened + market.window * i for i in (1, 2, 3, 4)]
