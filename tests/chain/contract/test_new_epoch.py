"""new_epoch: the acquirer opens one epoch after the other."""

from martfl.chain.events import Deposited, EpochOpened
from martfl.chain.state import Phase


def test_opens_with_its_deposit_and_says_so(market):
    done = market.trading.new_epoch(nonce=market.word("n"), amount=3_000, account=market.acquirer)
    deadline = market.chain.now() + market.window
    assert done.events == (
        EpochOpened(epoch=1, deadline=deadline, nonce=market.word("n")),
        Deposited(epoch=1, amount=3_000, total=3_000),
    )
    state = market.trading.read_epoch(1)
    assert (state.phase, state.deadline, state.deposit) == (Phase.OPEN, deadline, 3_000)
    assert (state.reward, state.penalty) == (2_000, 1_000)
    assert (state.providers, state.weight, state.base) == (0, 0, 0)
    assert market.held() == 3_000
    assert market.trading.epoch_count() == 1


def test_odd_unit_of_the_deposit_is_penalty(market):
    market.open(3_001)
    assert (market.state().reward, market.state().penalty) == (2_000, 1_001)


def test_opens_without_deposit(market):
    done = market.trading.new_epoch(nonce=bytes(32), account=market.acquirer)
    assert [type(event) for event in done.events] == [EpochOpened]


def test_only_the_acquirer_opens(market):
    with market.refused("only the acquirer"):
        market.trading.new_epoch(nonce=bytes(32), account=market.stranger)


def test_waits_for_the_epoch_before(market):
    for step in (market.open, lambda: market.close_commitments(), lambda: None):
        step()
        with market.refused("previous epoch is not settled"):
            market.trading.new_epoch(nonce=bytes(32), account=market.acquirer)


def test_follows_a_settled_epoch_and_starts_from_its_model(market):
    market.settled()
    assert market.open() == 2
    assert market.state().base == 1


def test_follows_a_failed_epoch_and_starts_from_the_model_before_it(market):
    market.prepared()
    market.pass_deadline()
    market.expire()
    assert market.open() == 2
    assert market.state().base == 0


def test_value_must_be_the_amount(market):
    call = market.trading.contract.functions.new_epoch(bytes(32), 5)
    with market.refused("value is not the amount"):
        market.chain.send(call, account=market.acquirer, value=4)


def test_deposit_that_does_not_fit_its_field_is_refused(market):
    call = market.trading.contract.functions.new_epoch(bytes(32), 2**96)
    with market.refused("deposit too large"):
        market.chain.send(call, account=market.acquirer)
