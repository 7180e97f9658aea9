"""prepare: who is bought, at which integer weight, before anything more is handed over."""

import pytest

from martfl.chain.events import EpochClosed, Prepared
from martfl.chain.network import RevertedError
from martfl.chain.state import Phase


def test_fixes_weights_and_says_so(market):
    market.committed()
    done = market.prepare({2: 5_536, 0: 60_000})
    assert done.events == (Prepared(epoch=1, providers=(market.names[2], market.names[0]), weights=(5_536, 60_000)),)
    state = market.state()
    assert (state.phase, state.weight) == (Phase.PREPARED, 65_536)
    assert state.deadline == market.chain.now() + market.window
    assert [market.standing(i).weight for i in range(3)] == [60_000, 0, 5_536]


def test_once(market):
    market.prepared()
    with market.refused("wrong phase"):
        market.prepare()


def test_only_the_acquirer(market):
    market.committed()
    with market.refused("only the acquirer"):
        market.prepare(account=market.stranger)


def test_not_while_commitments_are_open(market):
    market.open()
    with market.refused("commitments are still open"):
        market.prepare({})


def test_last_second_counts(market):
    market.committed()
    market.chain.travel_to(market.state().deadline + market.window - 1)
    market.prepare()


def test_not_after_the_window(market):
    market.committed()
    market.chain.travel_to(market.state().deadline + market.window)
    with market.refused("too late"):
        market.prepare()


@pytest.mark.parametrize("weights", [{0: 65_535}, {0: 32_768, 1: 32_769}, {0: 65_536, 1: 1}])
def test_weights_must_sum(market, weights):
    market.committed()
    with market.refused("weights must sum to 65536"):
        market.prepare(weights)


@pytest.mark.parametrize("weight", [0, 65_537, 2**255, 2**256 - 1])
def test_weight_out_of_range(market, weight):
    market.committed()
    with market.refused("weight must be 1 to 65536"):
        market.prepare({0: weight, 1: 65_536})


def test_weights_that_wrap_to_the_right_sum(market):
    market.committed()
    with market.refused("weight must be 1 to 65536"):
        market.prepare({0: 2**256 - 1, 1: 65_536, 2: 1})


def test_nobody_twice(market):
    market.committed()
    with market.refused("provider named twice"):
        market.prepare(providers=[market.names[0]] * 2, weights=[32_768] * 2)


def test_only_the_committed(market):
    market.committed()
    with market.refused("provider has not committed"):
        market.prepare(providers=[market.stranger.address], weights=[65_536])


def test_the_committed_of_another_epoch_do_not_count(market):
    market.settled()
    market.open()
    market.commit(0)
    market.close_commitments()
    with market.refused("provider has not committed"):
        market.prepare({1: 65_536})


def test_not_a_provider_dropped_before(market):
    market.committed()
    market.advance(0)
    market.drop(0)
    with market.refused("provider was dropped"):
        market.prepare({0: 65_536})


def test_one_weight_each(market):
    market.committed()
    with market.refused("one weight for each provider"):
        market.prepare(weights=[65_536])


def test_nobody_bought_refunds(market):
    market.committed()
    done = market.prepare({})
    assert done.event(EpochClosed).phase == Phase.EMPTY
    assert market.claim_all() == {market.acquirer.address: market.amount}
    assert market.held() == 0


def test_nobody_committed_refunds(market):
    market.open()
    market.close_commitments()
    market.prepare({})
    assert market.claim_all() == {market.acquirer.address: market.amount}


def test_no_more_than_one_call_can_carry(market):
    market.committed()
    with pytest.raises(RevertedError):
        market.prepare(providers=market.names[:1] * 129, weights=[508] * 129)
