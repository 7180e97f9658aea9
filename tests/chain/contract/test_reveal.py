"""reveal: the key of a bought update on chain, where the buyer has not said that it has it."""

from dataclasses import replace

import pytest

from martfl.chain.events import Revealed
from martfl.chain.state import Phase, SaleState


def test_counts_as_delivered_and_says_so(market):
    market.bought()
    done = market.reveal(0)
    assert done.events == (Revealed(epoch=1, provider=market.sellers[0].name, key=market.sellers[0].secret),)
    assert market.standing(0).state == SaleState.REVEALED
    state = market.state()
    assert (state.silent, state.revealed, state.delivered) == (2, 1, market.price(0))


def test_anybody_who_knows_the_key(market):
    market.bought()
    market.reveal(0, account=market.stranger)
    market.reveal(1, account=market.acquirer)
    assert market.state().revealed == 2


@pytest.mark.parametrize("field", ["secret", "commitment", "root", "provider"])
def test_nothing_but_the_providers_own_key(market, field):
    market.bought()
    mine, other = market.sellers[0], market.sellers[1]
    changes = {"secret": other.secret} if field == "secret" else {}
    if not changes:
        changes["offer"] = replace(mine.offer, **{field: getattr(other.offer, field)})
    with market.refused("not the provider's key"):
        market.reveal(0, **changes)


def test_in_the_last_second_and_not_in_the_next(market, to_the_second):
    market.bought()
    market.last_second("keys")
    market.reveal(0)
    with market.refused("too late"):
        market.reveal(1)


@pytest.mark.parametrize("state", ["committed", "revealed", "accepted", "listed", "refuted"])
def test_only_where_a_key_is_due(market, state):
    market.lies(0)
    market.committed()
    if state != "committed":
        market.buy(0)
    steps = {
        "revealed": [lambda: market.reveal(0)],
        "accepted": [lambda: market.accept(0)],
        "listed": [lambda: market.publish({0: 65_536})],
        "refuted": [lambda: market.reveal(0), lambda: market.refute(0)],
    }
    for step in steps.get(state, []):
        step()
    with market.refused("no key is due"):
        market.reveal(0)


def test_unknown_epoch(market):
    market.epoch = 1
    with market.refused("too late"):
        market.reveal(0)


def test_also_after_publication(market):
    market.bought()
    market.publish({0: 65_536})
    market.reveal(1)
    assert market.state().phase == Phase.STANDING
    market.past("keys")
    assert market.state().phase == Phase.STANDING  # one key is still open to refutation
    market.past("publish")
    assert market.state().phase == Phase.SETTLED
    assert market.claim(market.sellers[1].account) == market.price(1)
    with market.refused("nothing to claim"):
        market.claim(market.sellers[2].account)


def test_pays_although_the_buyer_publishes_nothing(market):
    market.bought()
    market.reveal(0)
    market.after("publish")
    paid = market.claim_all()
    assert paid == {
        market.sellers[0].name: market.price(0),
        market.acquirer.address: market.state().reward - market.price(0),
    }
    assert market.held() == market.state().penalty


def test_pays_although_another_epoch_has_begun(market):
    market.bought()
    market.publish({})
    market.open()
    market.epoch = 1
    market.reveal(0)
    market.after("publish")
    assert market.claim(market.sellers[0].account) == market.price(0)


def test_all_at_once_in_the_last_seconds(make_market, to_the_second):
    market = make_market(providers=20)
    market.bought()
    market.next_at(market.deadline("keys") - 19)
    for i in range(20):
        market.reveal(i)
    assert market.chain.now() == market.deadline("keys")
    assert (market.state().silent, market.state().revealed) == (0, 20)
