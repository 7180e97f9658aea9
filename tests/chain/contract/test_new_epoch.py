"""new_epoch: the acquirer opens one epoch after the other."""

import pytest

from martfl.chain.events import Deposited, EpochOpened
from martfl.chain.state import Phase


def test_opens_with_its_deposit_and_says_so(market):
    done = market.trading.new_epoch(amount=3_000, account=market.acquirer)
    assert done.events == (EpochOpened(epoch=1, base=0), Deposited(epoch=1, amount=3_000, total=3_000))
    state = market.trading.read_epoch(1)
    assert (state.phase, state.opened, state.deposit) == (Phase.OPEN, market.chain.now(), 3_000)
    assert (state.reward, state.penalty, state.base) == (2_000, 1_000, 0)
    assert (state.bought, state.silent, state.revealed, state.spent, state.delivered) == (0, 0, 0, 0, 0)
    assert market.held() == 3_000
    assert market.trading.epoch_count() == 1


def test_odd_unit_of_the_deposit_is_penalty(market):
    market.open(3_001)
    assert (market.state().reward, market.state().penalty) == (2_000, 1_001)


def test_opens_without_deposit(market):
    done = market.trading.new_epoch(account=market.acquirer)
    assert [type(event) for event in done.events] == [EpochOpened]


def test_only_the_acquirer_opens(market):
    with market.refused("only the acquirer"):
        market.trading.new_epoch(account=market.stranger)


def test_waits_for_the_epoch_before(market):
    steps = (
        market.open,
        market.relay,
        lambda: market.after("commit"),
        lambda: market.buy(0),
        lambda: market.after("buy"),
    )
    for step in (*steps, lambda: market.reveal(0), lambda: market.after("keys")):
        step()
        with market.refused("previous epoch is not over"):
            market.trading.new_epoch(account=market.acquirer)


def test_follows_a_published_epoch_at_once_and_starts_from_its_model(market):
    market.bought()
    market.publish({0: 65_536})
    assert market.state().phase == Phase.STANDING  # two purchases are not answered for
    assert market.open() == 2
    assert market.state().base == 1


def test_follows_an_epoch_that_bought_nothing(market, to_the_second):
    market.committed()
    market.last_second("buy")
    with market.refused("previous epoch is not over"):
        market.open()
    market.after("buy")
    assert market.open() == 2
    assert market.state().base == 0


def test_follows_a_failed_epoch_and_starts_from_the_model_before_it(market, to_the_second):
    market.settled()
    market.bought(0)
    market.last_second("publish")
    with market.refused("previous epoch is not over"):
        market.open()
    market.after("publish")
    assert market.open() == 3
    assert market.state().base == 1
    market.after("buy")
    assert market.open() == 4
    assert market.state().base == 1


def test_value_must_be_the_amount(market):
    call = market.trading.contract.functions.new_epoch(5)
    for value in (0, 4, 6):
        with market.refused("value is not the amount"):
            market.chain.send(call, account=market.acquirer, value=value)


def test_deposit_that_does_not_fit_its_field_is_refused(market):
    call = market.trading.contract.functions.new_epoch(2**96)
    with market.refused("deposit too large"):
        market.chain.send(call, account=market.acquirer)


@pytest.mark.parametrize("step", ["refund", "nothing"])
def test_an_empty_epoch_stays_empty_after_its_refund(market, step):
    market.committed()
    market.past("buy")
    if step == "refund":
        assert market.claim(market.acquirer) == market.amount
    assert market.state().phase == Phase.EMPTY
    market.past("publish")
    assert market.state().phase == Phase.EMPTY


def test_an_empty_epoch_publishes_nothing_after_its_refund(market):
    market.committed()
    market.after("buy")
    market.claim(market.acquirer)
    with market.refused("nothing is bought"):
        market.publish({})
    assert market.open() == 2
