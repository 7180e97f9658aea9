"""A buyer that picks its baselines, at a small size: what it reads with a sketch and without, and the bound on it."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from martfl.bench.scoring_attacks import ROW, ScoredEpoch, Victim, read_coordinates
from martfl.bench.scoring_privacy import bench_privacy
from martfl.scoring import SCORE_ERROR, scorer

PARAMETERS, ENTRIES = 60_000, 2048


@pytest.fixture(scope="module")
def result():
    return bench_privacy(parameters=PARAMETERS, sketch=ENTRIES, epochs=12)


def test_without_a_sketch_every_attack_reads_what_it_wants(result):
    assert result.whole.one_hot_first > 0.999
    assert result.whole.sparse_first > 0.99
    assert result.whole.adaptive > 0.9


def test_a_sketch_leaves_a_one_hot_baseline_a_small_share(result):
    assert result.mixed == 29
    assert result.sketch.one_hot_first < 3 * result.bound_first
    assert result.sketch.one_hot_first < result.sketch.one_hot < 1.5 * result.bound


def test_a_sketch_leaves_little_of_rows_and_searches(result):
    assert 0.5 < result.sketch.sparse_first < 0.7
    assert result.sketch.sparse_first < result.sketch.sparse < 0.9
    assert result.sketch.adaptive < 0.2


def test_many_epochs_of_one_update_undo_the_mixing():
    """What the page says of sellers that sell the same again: fresh seeds average the others away."""
    victim = Victim(PARAMETERS, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    shares = read_coordinates(victim, (ScoredEpoch(victim.update, ENTRIES, rng) for _ in range(150)))
    expected = 150 / (150 + PARAMETERS / ENTRIES - 1)
    assert shares[-1] == pytest.approx(expected, abs=0.12)


@pytest.mark.parametrize("entries", [0, ENTRIES], ids=["whole", "sketch"])
def test_the_study_asks_what_the_real_exchange_answers(entries):
    """A one-hot baseline through CKKS, beside the study's own short cut."""
    victim = Victim(PARAMETERS, np.random.default_rng(0))
    epoch = ScoredEpoch(victim.update, entries, np.random.default_rng(1))
    scheme = scorer("ckks", sketch=epoch.sketch)
    key = scheme.generate()
    row = victim.used[0] * ROW + np.arange(ROW)
    baseline = np.zeros(PARAMETERS)
    baseline[row] = 1.0
    score = key.decrypt_score(scheme.score(key.encrypt_baseline(baseline), victim.update))
    assert score == pytest.approx(epoch.ask(row, np.ones(ROW)), abs=2 * SCORE_ERROR)


def run(*options):
    from martfl.cli.bench import app

    return CliRunner().invoke(app, ["scoring-privacy", *options])


def test_the_command_prints_both_worlds():
    small = ("--parameters", "20000", "--epochs", "6")
    found = json.loads(run(*small, "--json").output)
    assert found["entries"] == 8192
    assert set(found["whole"]) == set(found["sketch"])
    assert "8,192 entries" in run(*small).output


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--parameters", "100"), "parameters must be at least 16384, got 100"),
        (("--epochs", "1"), "epochs must be at least 6 and baselines 2, got 1 and 4"),
        (("--sketch", "0"), "a sketch is needed to compare with"),
        (("--sketch", "40000"), "at most half of the model's 44426 parameters"),
    ],
)
def test_bad_options_are_refused(options, text):
    ran = run(*options)
    assert ran.exit_code != 0
    assert text in str(ran.exception)
