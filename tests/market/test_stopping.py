"""Acquirers that go away at any step, for ever or for a while: sellers are paid, and who comes back goes on."""

import pytest

from martfl.chain.state import Phase

ASKS = {0: 10**16, 1: 3 * 10**17}
STOPS = {  # the last step done → how the epoch ends when the acquirer does not come back
    "open": Phase.EMPTY,
    "invite": Phase.EMPTY,
    "relay": Phase.EMPTY,
    "offers": Phase.EMPTY,
    "scores": Phase.EMPTY,
    "order": Phase.EMPTY,
    "buy": Phase.FAILED,
    "keys": Phase.FAILED,
    "select": Phase.FAILED,
    "accept": Phase.FAILED,
    "aggregate": Phase.FAILED,
    "publish": Phase.SETTLED,
    "hand out": Phase.SETTLED,
    "prove": Phase.SETTLED,
}


class Stopped(BaseException):
    """The acquirer is gone."""


def stop_after(market, step):
    """The acquirer runs its first epoch and is gone after a step."""
    journal, record = market.acquirer.journal, market.acquirer.journal.record

    def stop(epoch, value, **options):
        record(epoch, value, **options)
        if value.step == step:
            raise Stopped(step)

    journal.record = stop
    with pytest.raises(Stopped, match=step):
        market.acquirer.run(1)


@pytest.mark.parametrize("step", STOPS)
def test_an_acquirer_that_stops_after_a_step(build, step):
    market = build(providers=2, asks=ASKS)
    stop_after(market, step)
    market.travel_to(market.times().publish + 1)
    market.watch()
    assert market.trading.read_epoch(1).phase is STOPS[step]
    for name in market.trading.bought(1):
        assert market.paid(1)[name] >= ASKS[market.names.index(name)]
    market.restart_acquirer()  # back again, it takes what is left and goes on
    market.run(2)
    assert market.trading.read_epoch(1).phase is STOPS[step]
    assert market.trading.read_epoch(2).phase is Phase.SETTLED and sorted(market.weights(2)) == sorted(market.names)
    forfeited = market.trading.read_epoch(1).penalty if STOPS[step] is Phase.FAILED else 0
    assert market.chain.balance(market.trading.address) == forfeited
    assert market.money_in(2) == market.money_out(2) + forfeited
    assert [one for one in market.offences() if one[0] in market.names] == []


@pytest.mark.parametrize("step", ["buy", "order"])
def test_keys_that_came_on_chain_meanwhile_are_taken_from_there(build, step):
    """The acquirer was away for the whole key window. It publishes what the chain has, and keeps its penalty."""
    market = build(providers=2, asks=ASKS)
    stop_after(market, step)
    if step == "order":  # the purchase went through, and nobody wrote it down
        market.restart_acquirer()
        stop_after(market, "buy")
    market.travel_to(market.times().keys + 1)
    assert market.outcome(1)["revealed"] == sorted(market.names)
    market.restart_acquirer()
    market.run(1)
    market.check_honest((0, 1))
    assert market.offences() == []


def test_who_comes_back_when_the_commit_window_is_over_goes_on_with_who_sent_its_own(build):
    market = build(providers=2, asks=ASKS)
    stop_after(market, "invite")
    market.travel_to(market.times().commit + 1)
    market.restart_acquirer()
    market.run(1)
    market.check_honest((0, 1))


def test_who_comes_back_before_anybody_was_invited_finds_an_empty_epoch(build):
    market = build(providers=2, asks=ASKS)
    stop_after(market, "open")
    market.travel_to(market.times().commit + 1)
    market.restart_acquirer()
    market.run(2)
    assert market.trading.read_epoch(1).phase is Phase.EMPTY
    market.check_honest((0, 1), epoch=2)
