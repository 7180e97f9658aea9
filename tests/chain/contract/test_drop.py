"""drop: a bought provider that did not deliver what it committed to; its part goes to the others."""

import pytest

from martfl.chain.events import Dropped, EpochClosed
from martfl.chain.state import Phase


def test_takes_the_weight_out_and_says_so(market):
    market.prepared()
    done = market.drop(1)
    assert done.events == (Dropped(epoch=1, providers=(market.names[1],)),)
    assert (market.state().weight, market.state().providers) == (45_536, 2)
    assert market.standing(1).dropped


def test_part_goes_to_the_other_bought_and_not_to_the_acquirer(market):
    market.prepared()
    market.drop(1)
    market.publish()
    market.pass_deadline()
    state = market.state()
    unit = state.reward // 45_536
    assert market.claim_all() == {
        market.names[0]: unit * 40_000,
        market.names[2]: unit * 5_536,
        market.acquirer.address: state.penalty + state.reward % 45_536,
    }
    assert market.held() == 0


def test_dropped_provider_gets_nothing(market):
    market.prepared()
    market.drop(1)
    market.publish()
    market.pass_deadline()
    with market.refused("nothing to claim"):
        market.claim(market.providers[1])


def test_fee_of_a_dropped_advance_goes_to_the_bought(market):
    market.committed()
    market.advance(0, 1)
    market.drop(0)
    assert (market.state().advanced, market.state().forfeited) == (1, 1)
    market.prepare({1: 65_535, 2: 1})
    market.publish()
    market.pass_deadline()
    unit = (market.state().reward + market.fee) // 65_536
    paid = market.claim_all()
    assert paid[market.names[1]] == unit * 65_535 + market.fee
    assert paid[market.names[2]] == unit
    assert sum(paid.values()) == market.amount + 2 * market.fee


def test_fee_of_a_dropped_advance_goes_to_the_committed_where_nobody_is_bought(market):
    market.committed()
    market.advance(0)
    market.drop(0)
    market.prepare({})
    assert market.claim_all() == {
        market.names[1]: market.fee // 2,
        market.names[2]: market.fee // 2,
        market.acquirer.address: market.amount + market.fee % 2,
    }


def test_all_dropped_pays_the_other_committed_in_equal_parts(market):
    market.prepared({0: 40_000, 1: 25_536})
    done = market.drop(0, 1)
    assert done.event(EpochClosed).phase == Phase.DROPPED
    state = market.state()
    assert market.claim_all() == {market.names[2]: state.reward, market.acquirer.address: state.penalty}


def test_an_acquirer_that_drops_everybody_pays_everybody(market):
    """Else it could buy all, see all, and have its money back."""
    market.committed()
    market.advance(1)
    market.prepare()
    market.drop(0, 1)
    market.drop(2)
    state = market.state()
    unit = state.reward // 65_536
    assert market.claim_all() == {
        market.names[0]: unit * 40_000,
        market.names[1]: unit * 20_000 + market.fee,
        market.names[2]: unit * 5_536,
        market.acquirer.address: state.penalty + state.reward % 65_536,
    }
    assert market.held() == 0


@pytest.mark.parametrize("end", ["prepare nobody", "expire"])
def test_whoever_looks_at_all_in_advance_and_drops_all_has_paid_for_the_look(market, end):
    market.committed()
    market.advance(0, 1, 2)
    market.drop(0, 1, 2)
    if end == "expire":
        market.chain.travel_to(market.state().deadline + market.window + 1)
        market.expire()
        part = market.state().penalty // 3
    else:
        market.prepare({})
        part = 0
    paid = market.claim_all()
    assert [paid[name] for name in market.names] == [market.fee + part] * 3
    assert sum(paid.values()) == market.amount + 3 * market.fee
    assert market.held() == 0


def test_only_the_acquirer(market):
    market.prepared()
    with market.refused("only the acquirer"):
        market.drop(0, account=market.providers[1])


def test_only_the_bought(market):
    market.prepared({0: 65_536})
    with market.refused("provider is not bought"):
        market.drop(1)
    with market.refused("provider has not committed"):
        market.drop(providers=[market.stranger.address])


def test_before_prepare_only_those_bought_in_advance(market):
    market.committed()
    with market.refused("provider is not bought"):
        market.drop(0)


def test_nobody_twice(market):
    market.prepared()
    market.drop(0)
    with market.refused("provider was dropped"):
        market.drop(0)
    with market.refused("provider was dropped"):
        market.drop(1, 1)


def test_not_once_published(market):
    market.published()
    with market.refused("wrong phase"):
        market.drop(0)


def test_not_after_the_deadline(market):
    market.prepared()
    market.pass_deadline()
    with market.refused("too late"):
        market.drop(0)


def test_not_after_the_prepare_window(market):
    market.committed()
    market.advance(0)
    market.chain.travel_to(market.state().deadline + market.window)
    with market.refused("too late"):
        market.drop(0)
