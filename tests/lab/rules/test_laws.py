"""What must hold for every rule, whatever its idea."""

import pickle
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch

from martfl.lab.rules import RULES, make_rule
from martfl.lab.rules.martfl import STRATEGY_RULES

NAMES = sorted(RULES)


def run(name, views, **params):
    rule = make_rule(name, **params)
    state, decisions = rule.init(), []
    for view in views:
        state, decision = rule.step(pickle.loads(pickle.dumps(state)), view)
        decisions.append(decision)
    return decisions


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_shares_and_only_the_bought_have_any(name, view_of, crowd) -> None:
    for decision in run(name, [view_of(crowd), view_of(crowd * 0.5, index=1)]):
        assert decision.weights.sum() == pytest.approx(1.0)
        assert (decision.weights >= 0).all()
        assert decision.bought.dtype == bool
        assert not decision.weights[~decision.bought].any()
        assert decision.update.shape == crowd.shape[1:]


@pytest.mark.parametrize("name", NAMES)
def test_the_round_is_left_as_it_was_and_repeats(name, view_of, crowd) -> None:
    before = crowd.clone()
    first, second = (run(name, [view_of(crowd), view_of(crowd, index=1)])[-1] for _ in range(2))
    assert torch.equal(crowd, before)
    assert torch.equal(first.update, second.update)
    assert np.array_equal(first.weights, second.weights)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_oracle_reads_who_is_honest(name, view_of, crowd) -> None:
    nobody_lies, some_lie = torch.ones(10, dtype=torch.bool), torch.arange(10) < 7
    plain, told = (run(name, [view_of(crowd, honest=honest)])[0] for honest in (nobody_lies, some_lie))
    assert torch.equal(plain.update, told.update) == (name != "oracle")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in STRATEGY_RULES])
def test_the_order_of_the_providers_does_not_matter(name, view_of, crowd) -> None:
    order = torch.as_tensor(np.random.default_rng(1).permutation(10))
    sizes = torch.arange(1, 11)
    plain = run(name, [view_of(crowd, sizes=sizes)])[0]
    shuffled = run(name, [view_of(crowd[order], sizes=sizes[order])])[0]
    assert torch.allclose(plain.update, shuffled.update)
    assert np.allclose(plain.weights[order.numpy()], shuffled.weights)


@pytest.mark.parametrize(
    "name", sorted({"martfl", "fltrust", "cffl", "rffl", "krum", "multi-krum", "oracle", "median"})
)
def test_a_broken_update_does_not_spoil_the_aggregate(name, view_of, crowd) -> None:
    broken = crowd.clone()
    broken[9, 3] = float("nan")
    honest = torch.arange(10) < 9
    for decision in run(name, [view_of(broken, honest=honest), view_of(broken, honest=honest, index=1)]):
        assert torch.isfinite(decision.update).all()
        assert name == "median" or decision.weights[9] == 0


def test_one_input_tells_all_rules_apart(view_of, crowd) -> None:
    params = {
        "dnc": {"byzantine": 0.3},
        "rlr": {"theta": 6.0},
        "rffl": {"gamma": 1.0},
        "multi-krum": {"byzantine": 0.3},
        "skymask": {"rate": 0.2},
    }
    names = [name for name in NAMES if name == "martfl" or name not in STRATEGY_RULES]
    view = view_of(crowd, sizes=torch.arange(1, 11), honest=torch.arange(10) != 6)
    updates = {name: run(name, [view], **params.get(name, {}))[0].update for name in names}
    same = [(a, b) for a, b in combinations(names, 2) if torch.allclose(updates[a], updates[b], atol=1e-6)]
    assert same == []


@pytest.mark.parametrize("name", NAMES)
def test_float32_and_float64_agree(name, view_of, crowd) -> None:
    view, ones = view_of(crowd), torch.ones(crowd.shape[1])
    judge = type(view.judge)(view.judge.rows.float(), view.judge.labels)
    wide = run(name, [view])[0]
    narrow = run(name, [replace(view_of(crowd), updates=crowd.float(), own_update=ones, model=0 * ones, judge=judge)])[
        0
    ]
    assert narrow.update.dtype == torch.float32
    assert torch.allclose(narrow.update.double(), wide.update, atol=1e-5)
    assert np.allclose(narrow.weights, wide.weights, atol=1e-5)
