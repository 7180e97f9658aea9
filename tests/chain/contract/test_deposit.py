"""deposit: the acquirer adds to reward and penalty while providers may still commit."""

from martfl.chain.events import Deposited


def test_adds_up_and_says_so(market):
    market.open(1_000)
    done = market.trading.deposit(1, amount=500, account=market.acquirer)
    assert done.events == (Deposited(epoch=1, amount=500, total=1_500),)
    assert market.state().deposit == market.held() == 1_500


def test_only_the_acquirer(market):
    market.open()
    with market.refused("only the acquirer"):
        market.trading.deposit(1, amount=1, account=market.stranger)


def test_last_second_counts_and_the_next_does_not(market, to_the_second):
    market.open()
    market.last_second("commit")
    market.trading.deposit(1, amount=1, account=market.acquirer)
    with market.refused("commitments are closed"):
        market.trading.deposit(1, amount=1, account=market.acquirer)


def test_unknown_epoch(market):
    for epoch in (0, 1):
        with market.refused("no such epoch"):
            market.trading.deposit(epoch, amount=1, account=market.acquirer)


def test_nothing_is_not_a_deposit(market):
    market.open()
    with market.refused("amount is zero"):
        market.trading.deposit(1, amount=0, account=market.acquirer)


def test_value_must_be_the_amount(market):
    market.open()
    with market.refused("value is not the amount"):
        market.chain.send(market.trading.contract.functions.deposit(1, 5), account=market.acquirer, value=6)


def test_sum_that_does_not_fit_its_field_is_refused(market):
    market.open()
    call = market.trading.contract.functions.deposit(1, 2**96 - 1)
    with market.refused("deposit too large"):
        market.chain.send(call, account=market.acquirer)


def test_nothing_beside_the_deposit_changes(market):
    market.open(1_000)
    market.commit(0)
    before = market.state()
    market.trading.deposit(1, amount=2_000, account=market.acquirer)
    after = market.state()
    assert (after.opened, after.base, after.spent, after.phase) == (before.opened, before.base, 0, before.phase)
    assert after.deposit == 3_000
