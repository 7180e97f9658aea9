"""accept: the acquirer says that an update is in its hands."""

import pytest

from martfl.chain.events import Accepted
from martfl.chain.state import Phase, SaleState


def test_counts_as_delivered_and_says_so(market):
    market.bought()
    done = market.accept(1, 0)
    assert done.events == (Accepted(epoch=1, providers=tuple(market.sellers[i].name for i in (1, 0))),)
    assert [market.standing(i).state for i in range(3)] == [SaleState.ACCEPTED, SaleState.ACCEPTED, SaleState.BOUGHT]
    state = market.state()
    assert (state.bought, state.silent, state.revealed) == (3, 1, 0)
    assert state.delivered == market.price(0) + market.price(1)


def test_only_the_acquirer(market):
    market.bought()
    with market.refused("only the acquirer"):
        market.accept(0, account=market.sellers[0].account)


@pytest.mark.parametrize("who", ["committed", "stranger", "twice", "accepted", "listed"])
def test_only_who_is_bought_and_not_yet_answered(market, who):
    market.bought(0, 1)
    if who == "accepted":
        market.accept(0)
    if who == "listed":
        market.publish({0: 65_536})
    chosen = {
        "committed": [2],
        "stranger": [],
        "twice": [0, 0],
        "accepted": [0],
        "listed": [0],
    }[who]
    names = [market.sellers[i].name for i in chosen] or [market.stranger.address]
    with market.refused("provider is not bought"):
        market.accept(providers=names)


def test_until_the_key_window_ends(market, to_the_second):
    market.bought()
    market.last_second("keys")
    market.accept(0)
    with market.refused("too late"):
        market.accept(1)


def test_who_has_revealed_until_the_publish_window_ends(market, to_the_second):
    market.bought()
    market.reveal(0)
    market.reveal(1)
    assert market.state().revealed == 2
    market.last_second("publish")
    market.accept(0)
    assert (market.standing(0).state, market.state().revealed) == (SaleState.ACCEPTED, 1)
    with market.refused("too late"):
        market.accept(1)


def test_price_counts_once(market):
    market.bought()
    market.reveal(0)
    assert market.state().delivered == market.price(0)
    market.accept(0)
    assert market.state().delivered == market.price(0)
    market.publish({0: 65_536})
    assert market.state().delivered == market.price(0)


def test_nobody_refutes_what_was_accepted(market):
    market.lies(0)
    market.bought()
    market.reveal(0)
    market.accept(0)
    with market.refused("provider has not revealed"):
        market.refute(0)


def test_after_publication_ends_the_epoch_early(market):
    market.bought()
    market.publish({0: 65_536})
    assert market.state().phase == Phase.STANDING
    market.accept(1)
    assert market.state().phase == Phase.STANDING
    market.accept(2)
    assert market.state().phase == Phase.SETTLED
    assert sum(market.claim_all().values()) == market.amount


def test_nobody_is_nothing(market):
    market.bought()
    before = market.state()
    market.accept()
    assert market.state() == before


def test_unknown_epoch(market):
    market.bought()
    market.epoch = 2
    with market.refused("provider is not bought"):
        market.accept(0)
