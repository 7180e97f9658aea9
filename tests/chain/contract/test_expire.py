"""expire: after a missed deadline anybody can close the epoch, and nothing stays locked."""

from martfl.chain.events import EpochClosed
from martfl.chain.state import Phase


def test_unprepared_epoch_gives_the_penalty_to_the_committed(market):
    market.committed()
    market.chain.travel_to(market.state().deadline + market.window + 1)
    done = market.expire()
    assert done.events == (EpochClosed(epoch=1, phase=Phase.ABANDONED),)
    state = market.state()
    paid = market.claim_all()
    assert [paid[name] for name in market.names] == [state.penalty // 3] * 3
    assert paid[market.acquirer.address] == state.reward + state.penalty % 3
    assert market.held() == 0


def test_advance_fees_are_paid_even_then(market):
    market.committed()
    market.advance(1)
    market.chain.travel_to(market.state().deadline + market.window + 1)
    market.expire()
    assert market.claim(market.providers[1]) == market.state().penalty // 3 + market.fee


def test_epoch_without_commitments_refunds(market):
    market.open()
    market.chain.travel_to(market.state().deadline + market.window + 1)
    market.expire()
    assert market.claim_all() == {market.acquirer.address: market.amount}


def test_epoch_without_deposit(market):
    market.open(0)
    market.chain.travel_to(market.state().deadline + market.window + 1)
    market.expire()
    with market.refused("nothing to claim"):
        market.claim(market.acquirer)
    market.open()


def test_unpublished_epoch_gives_reward_and_penalty_to_the_bought(market):
    market.prepared({0: 65_535, 1: 1})
    market.pass_deadline()
    done = market.expire()
    assert done.event(EpochClosed).phase == Phase.FAILED
    unit = market.amount // 65_536
    paid = market.claim_all()
    assert paid == {
        market.names[0]: unit * 65_535,
        market.names[1]: unit,
        market.acquirer.address: market.amount % 65_536,
    }


def test_not_before_the_deadlines(market):
    market.committed()
    market.chain.travel_to(market.state().deadline + market.window - 1)
    with market.refused("deadline has not passed"):
        market.expire()


def test_not_before_the_publish_deadline(market):
    market.prepared()
    market.chain.travel_to(market.state().deadline - 1)
    with market.refused("deadline has not passed"):
        market.expire()


def test_silence_about_a_published_model_is_consent(market):
    market.settled()
    with market.refused("epoch is settled"):
        market.expire()


def test_not_in_the_objection_window(market):
    market.published()
    with market.refused("deadline has not passed"):
        market.expire()


def test_closed_epochs_stay_closed(market):
    market.prepared()
    market.pass_deadline()
    market.expire()
    with market.refused("epoch is settled"):
        market.expire()


def test_unknown_epoch(market):
    market.epoch = 1
    with market.refused("no such epoch"):
        market.expire()


def test_acquirer_and_providers_may_call_too(market):
    market.prepared()
    market.pass_deadline()
    market.expire(account=market.providers[2])
    assert market.state().phase == Phase.FAILED
