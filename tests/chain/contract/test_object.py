"""object: bought providers say that the file handed out is not the committed model."""

from martfl.chain.events import EpochClosed, Objected
from martfl.chain.state import Phase


def test_is_on_record(market):
    market.published()
    done = market.trading.object(1, account=market.providers[1], evidence=market.word("file"))
    expected = Objected(epoch=1, provider=market.names[1], weight=20_000, evidence=market.word("file"))
    assert done.events == (expected,)
    assert market.standing(1).objected
    assert (market.state().objected, market.state().phase) == (20_000, Phase.PUBLISHED)


def test_minority_changes_nothing(market):
    market.published()
    market.trading.object(1, account=market.providers[1])
    market.pass_deadline()
    assert market.state().phase == Phase.SETTLED
    assert market.claim(market.acquirer) >= market.state().penalty


def test_more_than_half_costs_the_penalty(market):
    market.published()
    done = market.trading.object(1, account=market.providers[0])
    assert done.event(EpochClosed).phase == Phase.FAILED
    unit = market.amount // 65_536
    assert market.claim_all() == {
        market.names[0]: unit * 40_000,
        market.names[1]: unit * 20_000,
        market.names[2]: unit * 5_536,
        market.acquirer.address: market.amount % 65_536,
    }
    assert market.held() == 0


def test_exactly_half_does_not(market):
    market.published({0: 32_768, 1: 32_767, 2: 1})
    market.trading.object(1, account=market.providers[0])
    assert market.state().phase == Phase.PUBLISHED
    market.trading.object(1, account=market.providers[2])
    assert market.state().phase == Phase.FAILED


def test_half_is_of_the_weight_that_was_not_dropped(market):
    market.prepared({0: 60_000, 1: 3_000, 2: 2_536})
    market.drop(0)
    market.publish()
    market.trading.object(1, account=market.providers[1])
    assert market.state().phase == Phase.FAILED


def test_once_each(market):
    market.published()
    market.trading.object(1, account=market.providers[1])
    with market.refused("already objected"):
        market.trading.object(1, account=market.providers[1])


def test_only_the_bought(market):
    market.prepared({0: 60_000, 1: 5_536})
    market.drop(1)
    market.publish()
    with market.refused("provider has not committed"):
        market.trading.object(1, account=market.stranger)
    with market.refused("provider has not committed"):
        market.trading.object(1, account=market.acquirer)
    with market.refused("provider was dropped"):
        market.trading.object(1, account=market.providers[1])
    with market.refused("provider is not bought"):
        market.trading.object(1, account=market.providers[2])


def test_last_second_counts_and_the_next_does_not(market):
    market.published()
    market.chain.travel_to(market.state().deadline - 1)
    market.trading.object(1, account=market.providers[2])
    with market.refused("wrong phase"):
        market.trading.object(1, account=market.providers[1])


def test_not_before_there_is_a_model(market):
    market.prepared()
    with market.refused("wrong phase"):
        market.trading.object(1, account=market.providers[0])


def test_objectors_are_paid_like_the_others(market):
    market.published()
    market.trading.object(1, account=market.providers[1])
    market.pass_deadline()
    assert market.claim(market.providers[1]) == market.state().reward // 65_536 * 20_000
