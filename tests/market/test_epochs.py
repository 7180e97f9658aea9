"""Honest epochs: the model learns, everybody is paid its price and by weight, to the unit, and the money adds up."""

import pytest

from martfl.chain.state import WHOLE, Phase, SaleState
from martfl.market.steps import KeysTaken, ModelPosted, PaidOut, Purchased, Selected
from martfl.selection import STRATEGIES


def check_payment(market, epoch):
    """Price and share of the rest, to the unit; the acquirer has what is left and its penalty."""
    state, weights = market.trading.read_epoch(epoch), market.weights(epoch)
    assert state.phase is Phase.SETTLED
    bought = market.trading.bought(epoch)
    prices = {name: market.price(market.names.index(name), epoch) for name in bought}
    bonus = state.reward - sum(prices.values())
    expected = {name: prices[name] + bonus * weights.get(name, 0) // WHOLE for name in bought}
    assert market.paid(epoch) == expected
    assert all(amount >= prices[name] for name, amount in expected.items())
    (refunded,) = market.outcome(epoch)["refunded"]
    assert refunded == state.deposit - sum(expected.values()) >= state.penalty


def test_two_epochs_train_the_model_and_pay_by_price_and_weight(build):
    market = build(asks={0: 0, 1: 1, 2: 3 * 10**16, 3: 10**17})
    before = {name: market.chain.balance(name) for name in market.names}
    market.run(2)
    assert market.accuracy(2) > 0.7 > market.accuracy(0)
    for epoch in (1, 2):
        check_payment(market, epoch)
        assert len(market.weights(epoch)) == 4 and sum(market.weights(epoch).values()) == WHOLE
        posted = market.acquirer.journal.recall(epoch, ModelPosted)
        assert dict(posted.weights) == market.weights(epoch)
        assert dict(market.acquirer.journal.recall(epoch, PaidOut).paid) == market.paid(epoch)
    for name in market.names:  # relayed, accepted and paid for: no provider sent a transaction
        assert market.chain.balance(name) - before[name] == market.paid(1)[name] + market.paid(2)[name]
    assert market.chain.balance(market.trading.address) == 0
    assert market.money_in(2) == market.money_out(2)


def test_who_is_only_looked_at_is_accepted_and_paid_its_price(build, kit):
    looked = build(providers=3).names[2]
    build.close()
    market = build(providers=3, rule=kit.Everybody(unweighed=frozenset({looked})))
    market.run(1)
    assert market.state(2) is SaleState.CLAIMED
    assert market.outcome(1)["accepted"] == [looked] and market.outcome(1)["revealed"] == []
    assert market.paid(1)[looked] == market.price(2)
    check_payment(market, 1)


def test_nobody_is_bought_beyond_the_reward(build):
    """Two asks of 60 % do not fit: the second is not bought, and nobody is short."""
    terms = {"reputation": {"dearest": 3.0}}
    market = build(providers=3, asks={0: 6 * 10**17, 1: 6 * 10**17, 2: 10**17}, terms=terms)
    market.run(1)
    order = market.trading.bought(1)
    assert len(order) == 2 and market.names[2] in order
    check_payment(market, 1)


def test_an_epoch_in_which_nothing_is_bought_costs_nothing(build, kit):
    class Nobody(kit.Everybody):
        def trade(self, state, buyer, rng):
            buyer.buy = lambda providers: {}
            return super().trade(state, buyer, rng)

    market = build(providers=2, rule=Nobody())
    market.run(2)
    for epoch in (1, 2):
        assert market.trading.read_epoch(epoch).phase is Phase.EMPTY
        assert market.outcome(epoch)["refunded"] == [market.terms.money.deposit]
    assert market.trading.read_epoch(2).base == 0
    assert market.chain.balance(market.trading.address) == 0


def test_an_epoch_of_which_nothing_is_weighed_keeps_the_model(build, kit):
    """Looks only: prices are paid, the rest of the reward returns, and the next epoch starts from the same model."""
    names = build(providers=2).names
    build.close()
    market = build(providers=2, rule=kit.Everybody(unweighed=frozenset(names)))
    market.run(1)
    assert market.trading.read_epoch(1).phase is Phase.SETTLED and market.weights(1) == {}
    assert market.paid(1) == {name: market.price(i) for i, name in enumerate(names)}
    first, second = (market.settler.floats(market.acquirer.model_file(t)) for t in (0, 1))
    assert (first == second).all()


def test_what_was_bought_is_in_the_journal(build):
    market = build(providers=2)
    market.run(1)
    journal = market.acquirer.journal
    (bought,) = journal.all_of(Purchased, 1)
    assert dict(bought.prices) == {name: market.price(i) for i, name in enumerate(market.names)}
    (keys,) = journal.all_of(KeysTaken, 1)
    assert set(keys.providers) == set(market.names)


@pytest.mark.parametrize("rule", STRATEGIES)
def test_weights_on_chain_are_those_of_the_rule(build, rule):
    market = build(terms={"selection": {"rule": rule}, "scoring": {}}, rule=None)
    market.run(2)
    for epoch in (1, 2):
        check_payment(market, epoch)
        judged = market.acquirer.journal.recall(epoch, Selected).judged
        assert {name for name, one in judged.items() if one.weight > 0} == set(market.weights(epoch))
        for name, weight in market.weights(epoch).items():
            assert abs(judged[name].weight - weight / WHOLE) < 2 / WHOLE
