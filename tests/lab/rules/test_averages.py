"""FedAvg, the oracle and RLR against plain loops."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from martfl.lab.rules import make_rule

SIZES = torch.tensor([10, 20, 30, 40])
UPDATES = np.array([[1.0, -1.0, 2.0], [1.0, 1.0, 0.0], [1.0, -1.0, -4.0], [-1.0, 1.0, 8.0]])


def decide(name, view, **params):
    rule = make_rule(name, **params)
    return rule.step(rule.init(), view)[1]


def test_fedavg_weighs_by_rows(view_of) -> None:
    decision = decide("fedavg", view_of(UPDATES, sizes=SIZES))
    assert decision.weights.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert decision.update.tolist() == pytest.approx([0.2, 0.2, 0.1 * 2 - 0.3 * 4 + 0.4 * 8])
    assert decision.bought.all()


def test_the_oracle_is_fedavg_without_the_dishonest(view_of) -> None:
    honest = torch.tensor([True, True, False, True])
    decision = decide("oracle", view_of(UPDATES, sizes=SIZES, honest=honest))
    apart = decide("fedavg", view_of(UPDATES[honest.numpy()], sizes=SIZES[honest]))
    assert torch.allclose(decision.update, apart.update)
    assert decision.bought.tolist() == honest.tolist()


def test_the_oracle_with_nobody_honest_does_nothing(view_of) -> None:
    decision = decide("oracle", view_of(UPDATES, honest=torch.zeros(4, dtype=torch.bool)))
    assert not decision.update.any()
    assert not decision.weights.any()


def test_rlr_turns_back_where_the_votes_are_split(view_of) -> None:
    plain = decide("fedavg", view_of(UPDATES, sizes=SIZES)).update
    decision = decide("rlr", view_of(UPDATES, sizes=SIZES), theta=2.0)  # votes: |3 − 1|, |2 − 2|, |2 − 1|
    assert torch.allclose(decision.update, plain * torch.tensor([1.0, -1.0, -1.0]))


@given(arrays(np.float64, (6, 5), elements=st.floats(-2, 2)), st.sampled_from([0.0, 1.0, 2.0, 4.0, 6.0]))
def test_rlr_agrees_with_a_loop_over_parameters(updates, theta) -> None:
    from martfl.lab.rules.base import RoundView  # the fixture cannot be reused across examples

    rows = torch.as_tensor(updates)
    ones = torch.ones(5)
    view = RoundView(0, ones, rows, ones, torch.ones(6), torch.ones(6), None, np.random.default_rng(0))
    expected = []
    for column in updates.T:
        votes = abs(sum((value > 0) - (value < 0) for value in column.tolist()))
        expected.append(np.mean(column) if votes >= theta else -np.mean(column))
    assert decide("rlr", view, theta=theta).update.tolist() == pytest.approx(expected, abs=1e-12)


def test_rlr_as_the_paper_sets_it_is_fedavg(view_of, crowd) -> None:
    assert torch.equal(decide("rlr", view_of(crowd)).update, decide("fedavg", view_of(crowd)).update)
