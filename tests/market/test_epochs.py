"""Honest epochs: the model learns, everybody is paid by weight, and the money adds up."""

import pytest

from martfl.chain.state import Phase
from martfl.selection import STRATEGIES


def test_two_epochs_train_the_model_and_pay_by_weight(build):
    market = build()
    before = [market.chain.balance(p.account.address) for p in market.providers]
    market.acquirer.run(2)
    assert market.accuracy(2) > 0.7 > market.accuracy(0)
    for epoch in (1, 2):
        state = market.trading.read_epoch(epoch)
        assert state.phase is Phase.SETTLED
    assert market.chain.balance(market.trading.address) == 0
    assert len(before) == len(market.providers)
    assert market.claimed() > 0


def test_by_the_papers_rule_the_next_epoch_is_judged_by_a_provider(build):
    market = build(terms={"selection": {"rule": "martfl"}})
    market.acquirer.run(2)
    second = market.acquirer.journal.recall(2, "select").value
    assert second["baseline"] in [p.account.address for p in market.providers]
    position = second["providers"].index(second["baseline"])
    assert second["weights"][position] == 0
    assert market.trading.read_provider(2, second["baseline"]).advance


@pytest.mark.parametrize("rule", STRATEGIES)
def test_weights_on_chain_are_those_of_the_selection(build, rule):
    market = build(terms={"selection": {"rule": rule}})
    market.acquirer.run(1)
    chosen = market.acquirer.journal.recall(1, "prepare").value["weights"]
    assert sum(chosen.values()) == 1 << 16
    for name, weight in chosen.items():
        assert market.trading.read_provider(1, name).weight == weight
