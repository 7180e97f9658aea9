"""The promised error rate, on updates of honest sellers that were really trained."""

import pytest

from martfl.lab.config import make_config
from martfl.lab.experiment import Runtime, run_experiment
from martfl.lab.rules import strategy as lab
from martfl.selection import Code, make_strategy

DROPS = (Code.HARM, Code.ALONE, Code.KIND)


@pytest.fixture
def decisions(monkeypatch):
    """The codes of everybody who was bought, in all epochs of a run."""
    found: list[Code] = []

    def keep(selection):
        found.extend(selection.reasons[i].code for i in selection.bought)
        return ""

    monkeypatch.setattr(lab, "headline", keep)
    return found


@pytest.mark.parametrize(
    "market",
    [
        {},
        pytest.param({"sizes": "pow"}, marks=pytest.mark.long),
        pytest.param({"root": "biased", "dominance": 1.0, "biased": 0.3}, marks=pytest.mark.long),
        pytest.param({"classes": "noniid"}, marks=pytest.mark.long),
        {"classes": "noniid", "sizes": "pow"},
    ],
    ids=["all classes each", "unlike sizes", "biased root", "few classes each", "few classes and unlike sizes"],
)
def test_honest_sellers_are_dropped_as_seldom_as_promised(decisions, market) -> None:
    """Sellers of a few dozen rows and few classes are the hardest. So few decisions tell a rate to one in a hundred."""
    settings = {"dataset": "digits", "rule": "evidence", "participants": 20, "rounds": 10, "eval_every": 10}
    for seed in (20, 21, 22):
        run_experiment(make_config({**settings, **market, "seed": seed}), runtime=Runtime(device="cpu"))
    assert len(decisions) > 300
    assert sum(code in DROPS for code in decisions) <= 2 * make_strategy("evidence").false_drop * len(decisions)


def test_a_higher_error_rate_drops_more(decisions) -> None:
    settings = {"dataset": "digits", "rule": "evidence", "participants": 20, "rounds": 6, "eval_every": 6, "seed": 20}
    market = {"classes": "noniid", "sizes": "pow"}
    dropped = []
    for rate in (1e-6, 0.9):
        decisions.clear()
        params = {"rule_params": {"false_drop": rate}}
        run_experiment(make_config({**settings, **market, **params}), runtime=Runtime(device="cpu"))
        dropped.append(sum(code in DROPS for code in decisions) / len(decisions))
    assert dropped[0] == 0.0 < dropped[1]
