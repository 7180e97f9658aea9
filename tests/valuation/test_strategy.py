"""A selection with weights by value, in the lab and by itself."""

import numpy as np
import pytest
import torch

from martfl.errors import InputError
from martfl.lab.config import make_config
from martfl.lab.experiment import Runtime, run_experiment
from martfl.lab.rules import make_rule
from martfl.lab.setup import make_setup
from martfl.selection import make_strategy
from martfl.valuation import ByValue


def views(rounds: int, **changes):
    """Real rounds on digits."""
    from martfl.lab.randomness import stream
    from martfl.lab.rules import RoundView

    config = make_config({"dataset": "digits", "rule": "evidence", "sizes": "pow", "rounds": rounds, **changes})
    setup = make_setup(config, Runtime())
    model = setup.model.start(stream(0, "model"))
    for index in range(rounds):
        trained = setup.clients.train(model, seed=0, index=index)
        rng = stream(0, "rule", index)
        yield RoundView(index, model, trained[:-1], trained[-1], setup.sizes, setup.honest, setup.judge, rng)
        model = model + trained[:-1].mean(dim=0)


def test_only_who_is_kept_is_paid_and_the_larger_are_paid_more() -> None:
    rule, plain = make_rule("evidence", budget=1.0, value="information"), make_rule("evidence", budget=1.0)
    state, old, pay = rule.init(), plain.init(), np.zeros(9)
    for view in views(6):
        state, decision = rule.step(state, view)
        old, before = plain.step(old, view)
        assert decision.weights.sum() == pytest.approx(1.0)
        assert not decision.weights[before.weights == 0].any()
        assert torch.isfinite(decision.update).all()
        pay += decision.weights
    sizes = view.sizes.numpy()
    assert np.corrcoef(np.argsort(np.argsort(pay)), np.argsort(np.argsort(sizes)))[0, 1] > 0.6


@pytest.mark.parametrize("length", [1e-25, 1e-40])
def test_an_update_too_short_for_a_direction_ends_no_epoch_and_is_worth_nothing(length) -> None:
    from dataclasses import replace

    from martfl.lab.rules.strategy import LabBuyer

    strategy = ByValue(inner=make_strategy("evidence", budget=1.0))
    (view,) = views(1)
    updates = view.updates.clone()
    updates[2] *= length / updates[2].norm()
    view = replace(view, updates=updates)
    _, selection = strategy.trade(strategy.start(), LabBuyer(view, view.judge), np.random.default_rng(0))
    assert selection.weights[2] == 0 and selection.weights.sum() == pytest.approx(1.0)


def test_its_memory_comes_back_as_it_was() -> None:
    from martfl.lab.rules.strategy import LabBuyer

    strategy = ByValue(inner=make_strategy("evidence"))
    direct = packed = strategy.start()
    for view in views(3):
        rng = np.random.default_rng(view.index)
        direct, one = strategy.trade(direct, LabBuyer(view, view.judge), rng)
        rng = np.random.default_rng(view.index)
        packed, two = strategy.trade(strategy.unpack(strategy.pack(packed)), LabBuyer(view, view.judge), rng)
        assert one.weights == pytest.approx(two.weights, abs=1e-3)  # traces are kept in single precision


def test_the_lab_runs_it_and_refuses_other_values() -> None:
    config = make_config({"dataset": "digits", "rule": {"name": "evidence", "value": "information"}, "rounds": 3})
    result = run_experiment(config)
    assert result.status == "done" and (result.mta or 0) > 0.3
    with pytest.raises(InputError, match="unknown value 'more'"):
        make_rule("evidence", value="more")


def test_a_memory_of_another_kind_is_refused_by_name() -> None:
    inner = make_strategy("evidence")
    with pytest.raises(InputError, match="memory of rule 'valued' has version 1, got 'evidence' version 6"):
        ByValue(inner=inner).unpack(inner.pack(inner.start()))
    with pytest.raises(InputError, match="memory of rule 'evidence' has version 6, got 'martfl'"):
        ByValue(inner=inner).unpack(
            ByValue(inner=make_strategy("martfl")).pack(ByValue(inner=make_strategy("martfl")).start())
        )
