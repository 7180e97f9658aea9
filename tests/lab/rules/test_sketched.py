"""Sketched scores in the lab: the market's own sketch, and what is said of whom they judge differently."""

import copy

import numpy as np
import pytest
import torch

from martfl.errors import InputError
from martfl.lab.config import make_config
from martfl.lab.experiment import run_experiment
from martfl.lab.rules import make_rule
from martfl.lab.rules.sketched import SketchedScores, compare
from martfl.lab.rules.strategy import LabBuyer
from martfl.scoring import SCORE_ERROR, cosine
from martfl.selection import Code, Selection
from martfl.selection.reasons import MEANINGS, because

ENTRIES = 100


@pytest.fixture
def updates():
    return torch.randn(5, 18 * 50, generator=torch.Generator().manual_seed(0)) + 0.3


def test_scores_are_those_of_the_markets_sketches(updates):
    scores = SketchedScores(updates, ENTRIES, np.random.default_rng(0))
    baseline = updates[0] + updates[1]
    wanted = [cosine(baseline.numpy(), row.numpy(), sketch=scores.sketch) for row in updates]
    assert scores(baseline) == pytest.approx(wanted, abs=SCORE_ERROR + 1e-6)


def test_every_round_has_a_seed_of_its_own(updates):
    first, second = (SketchedScores(updates, ENTRIES, np.random.default_rng(i)) for i in (0, 1))
    assert first.sketch.seed != second.sketch.seed
    assert np.abs(first(updates[0])[1:] - second(updates[0])[1:]).max() > 1e-3


def test_broken_and_zero_updates_get_what_they_get_without_a_sketch(view_of):
    rows = torch.ones(4, 18, dtype=torch.float64)
    rows[1], rows[2, 3] = 0.0, float("nan")
    view = view_of(rows)
    exact, sketched = (LabBuyer(view, view.judge, sketch=entries) for entries in (0, 8))
    for buyer in (exact, sketched):
        scores = buyer.score(torch.ones(18, dtype=torch.float64))
        assert np.isnan(scores[2])
        assert scores[1] == pytest.approx(0.0, abs=SCORE_ERROR)
        assert scores[[0, 3]] == pytest.approx(1.0, abs=0.2)


def test_a_buyer_says_how_far_its_scores_may_be_off(view_of):
    view = view_of(torch.ones(2, 18, dtype=torch.float64))
    assert LabBuyer(view, view.judge, sketch=400).score_error == pytest.approx(0.05, rel=0.01)
    assert LabBuyer(view, view.judge).score_error == 0.0


def test_the_rules_own_randomness_goes_on_as_without_a_sketch(updates):
    rng = np.random.default_rng(3)
    untouched = copy.deepcopy(rng)
    SketchedScores(updates, ENTRIES, rng)(updates[0])
    assert rng.random() == untouched.random()


def selection(codes, bought, weights):
    reasons = tuple(because(code, **dict.fromkeys(MEANINGS[code].fields, 0.0)) for code in codes)
    return Selection(np.zeros(len(codes)), np.array(weights), reasons, bought)


def test_lots_are_told_from_judgements():
    one = selection((Code.KEPT, Code.BUDGET, Code.ON_RECORD, Code.NO_GAIN), (0, 3), [0.5, 0.0, 0.0, 0.5])
    two = selection((Code.BUDGET, Code.KEPT, Code.HARM, Code.ON_RECORD), (1, 2, 3), [0.0, 1.0, 0.0, 0.1])
    assert compare(one, two) == {"same_choices": 0.75, "same_purchases": 0.25}
    assert compare(one, one) == {"same_choices": 1.0, "same_purchases": 1.0}


@pytest.mark.parametrize("rule", ["martfl", "evidence"])
def test_a_run_says_how_often_sketches_change_a_fate(rule):
    settings = {"dataset": "digits", "rounds": 3, "eval_every": 3, "participants": 8}
    fine = run_experiment(make_config({**settings, "rule": {"name": rule, "sketch": 1 << 16}}))
    rough = run_experiment(make_config({**settings, "rule": {"name": rule, "sketch": 2}}))
    plain = run_experiment(make_config({**settings, "rule": rule}))
    assert fine.same_choices == fine.same_purchases == 1.0  # more entries than parameters: nothing is lost
    assert rough.same_purchases < 1.0
    assert [row.same_choices for row in plain.history] == [None] * 3
    assert fine.mta == plain.mta


def test_a_bad_number_of_entries_is_refused():
    with pytest.raises(InputError, match=r"sketch must have 0 \(none\) to 1048576 entries, got -1"):
        make_rule("martfl", sketch=-1)
