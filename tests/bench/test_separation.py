"""Telling attackers from honest sellers: the classifier is told of other divisions alone, and can succeed and fail."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from martfl.bench.separation import bench_separation, markets, told
from martfl.bench.separation.alike import axes, beyond, likeness
from martfl.bench.separation.kept import keep_told, read_told, told_table
from martfl.bench.separation.looks import words
from martfl.bench.separation.markets import Sight, all_divisions, hand_in, read_sights, watch, watch_all
from martfl.bench.separation.told import auc, caught, leave_out, standardise, tell_apart
from martfl.cli import app
from martfl.errors import InputError
from martfl.lab.checkpoint import Progress
from martfl.lab.config import make_config
from martfl.lab.experiment import _updates
from martfl.lab.randomness import stream
from martfl.lab.runtime import Runtime
from martfl.lab.setup import make_setup

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "results" / "benches" / "separation.jsonl"


@pytest.fixture(autouse=True)
def few_trees(monkeypatch) -> None:
    monkeypatch.setattr(told, "TREES", 40)


def sight(seed: int, *, longer: float = 0.0, class_3: float = 0.0, sellers: int = 20, epochs: int = 2) -> Sight:
    """A made-up division: features are noise, beside which attackers are longer, or give class 3 more."""
    rng = np.random.default_rng(seed)
    bad = rng.permutation(sellers) < 0.3 * sellers
    noise = {name: rng.normal(size=(epochs, sellers)) for name in ("length", told.EVIDENCE, "another", "shift to 3")}
    noise["length"] += longer * bad
    noise["shift to 3"] += class_3 * bad
    lists = {name: values.tolist() for name, values in noise.items()}
    named = {"shift to 3": lists.pop("shift to 3")}
    return Sight("digits", "backdoor", "honest", seed, epochs, bad.tolist(), [10] * sellers, lists, named)


def test_attackers_that_are_longer_are_told_by_their_length() -> None:
    found = tell_apart([sight(seed, longer=8.0) for seed in range(4)])
    assert found.auc == found.worst == found.epoch == 1.0 and found.error == 0.0
    assert found.best[0] == ("length", 1.0)
    assert found.at_1.sellers == found.at_5.rows == 1.0
    assert (found.sellers, found.attackers, found.seeds, found.epochs) == (20, 6, 4, 2)


def test_noise_tells_nothing() -> None:
    found = tell_apart([sight(seed) for seed in range(8)])
    assert abs(found.auc - 0.5) < 0.15 and abs(found.named - 0.5) < 0.15
    assert found.at_5.sellers < 0.3


def test_what_only_a_class_shows_is_seen_by_the_classifier_that_may_name_it() -> None:
    found = tell_apart([sight(seed, class_3=8.0) for seed in range(6)])
    assert found.named > 0.95 and found.auc < 0.7


def test_features_can_be_left_out() -> None:
    sights = [sight(seed, longer=8.0) for seed in range(4)]
    found = tell_apart(sights, without="length")
    assert found.auc < 0.9 and "length" not in found.singles
    assert "backdoor, without “length”" in told_table([found])
    with pytest.raises(InputError, match="'rule' names it"):
        tell_apart(sights, without="rule")


def test_the_division_that_is_asked_about_is_never_told(monkeypatch) -> None:
    told_of = []

    def learn(tables, truths):
        told_of.append({int(table[0, 0, 0]) for table in tables})
        return lambda rows: np.zeros(len(rows))

    monkeypatch.setattr(told, "learn", learn)
    tables = [np.full((2, 5, 3), float(place)) for place in range(4)]
    leave_out(tables, [np.array([True] * 5)] * 4)
    assert told_of == [{0, 1, 2, 3} - {place} for place in range(4)]
    told_of.clear()
    leave_out(tables, [np.array([True] * 5)] * 4, most=1)
    assert told_of == [{1}, {2}, {3}, {0}]


def test_what_holds_in_its_own_division_alone_is_not_learnt() -> None:
    """Attackers stand out by a feature of their own in every division: only who had seen the answer could tell."""
    sights = []
    for seed in range(6):
        one, rng = sight(seed), np.random.default_rng(seed)
        plain = {f"feature {i}": rng.normal(size=(2, 20)) for i in range(6)}
        plain[f"feature {seed}"] += 8.0 * np.array(one.attackers)
        lists = {name: values.tolist() for name, values in plain.items()}
        sights.append(Sight(**{**vars(one), "plain": {**one.plain, **lists}}))
    assert tell_apart(sights).auc < 0.75


def test_features_know_no_absolute_scale() -> None:
    values = np.random.default_rng(1).normal(size=(2, 9, 3))
    again = standardise(100.0 * values + 7.0)
    assert np.allclose(standardise(values), again)
    assert (standardise(np.ones((1, 4, 2))) == 0).all()
    rare = standardise(np.array([0.0, 0.0, 0.0, 0.0, 9.0])[None, :, None])[0, :, 0]
    assert rare[4] > 2 and (rare[:4] == 0).all()


def test_who_is_caught_counts_by_sellers_and_by_rows() -> None:
    scores = [np.array([0.1, 0.2, 0.3, 0.9]), np.array([0.4, 0.25, 0.8, 0.05])]
    truths = [np.array([False, False, True, True]), np.array([False, True, True, False])]
    rows = [np.array([1, 1, 1, 5]), np.array([1, 1, 3, 1])]
    none_lost = caught(scores, truths, rows, spared=1.0)
    assert (none_lost.sellers, none_lost.rows) == (0.5, 0.8)
    assert caught(scores, truths, rows, spared=0.75).sellers == 1.0


def test_equal_scores_are_half_right() -> None:
    assert auc(np.array([1.0, 1.0, 0.0]), np.array([True, False, False])) == 0.75


def test_likeness_leaves_out_each_with_itself() -> None:
    gram = np.array([[1.0, 0.2, 0.4, 0.6], [0.2, 1.0, 0.0, 0.0], [0.4, 0.0, 1.0, 0.0], [0.6, 0.0, 0.0, 1.0]])
    found = likeness(gram, "")
    assert found["closest"].tolist() == [0.6, 0.2, 0.4, 0.6]
    assert found["third closest"].tolist() == [0.2, 0.0, 0.0, 0.0]
    assert found["mean"][0] == pytest.approx(0.4)


def test_axes_point_to_where_they_are_asked_to() -> None:
    side = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    gram = np.outer(side, side)
    assert (axes(gram, side, "x")["axis 1, x"] * side > 0).all()
    assert (axes(gram, -side, "x")["axis 1, x"] * side < 0).all()


def test_what_is_known_is_taken_out() -> None:
    rng = np.random.default_rng(0)
    known, rest = rng.normal(size=(12, 2)), rng.normal(size=(12, 3))
    directions = np.column_stack([known, rest])
    left = beyond(directions @ directions.T, known)
    assert np.abs(known.T @ left).max() < 1e-9 and np.abs(left).max() > 0.1


def test_a_heavy_word_counts_where_two_others_have_it_too() -> None:
    table = 0.1 * torch.ones(6, 5, 2)
    table[:, 0] = 3.0  # all have a word in common
    table[:3, 4] = 9.0  # three share another
    table[5, 1] = 20.0  # one has a word of its own
    lacking = torch.zeros(5, 1)
    found = words(table, lacking)
    for name in ("heaviest shared word", "heaviest rare shared word", "heaviest dark shared word"):
        assert found[name][:3].min() > 0.7 and found[name][3:].max() < 0.3
    assert found["heaviest word"][5] > found["heaviest word"][0]
    assert (words(table, lacking + 1.0)["heaviest dark shared word"] == 0).all()


def test_sellers_hand_in_what_they_do_in_the_lab() -> None:
    config = make_config({"dataset": "digits", "rule": "evidence", "attack": "backdoor", "malicious": 0.3})
    setup = make_setup(config, Runtime())
    progress = Progress(setup.model.start(stream(0, "model")), None, None, None)
    for ours, theirs in zip(hand_in(setup, progress, 0), _updates(setup, progress, 0), strict=True):
        assert torch.equal(ours, theirs)


def test_the_model_is_made_by_the_honest_or_by_all() -> None:
    first, second = (watch(*all_divisions(["digits"], ["backdoor"], [3], epochs=2, mean=mean), Runtime())
                     for mean in ("honest", "all"))  # fmt: skip
    assert first.plain["length"][0] == second.plain["length"][0]
    assert first.plain["length"][1] != second.plain["length"][1]
    assert sum(first.attackers) == 6 and len(first.rows) == 19
    assert all(np.isfinite(values).all() for values in (*first.plain.values(), *first.named.values()))


def test_what_was_seen_is_not_trained_again(tmp_path, monkeypatch) -> None:
    out, divisions = tmp_path / "seen.jsonl", all_divisions(["digits"], ["label-flipping"], [1, 2], epochs=1)
    lines: list[str] = []
    first = watch_all(divisions[:1], Runtime(), out=out, tell=lines.append)
    both = watch_all(divisions, Runtime(), out=out, tell=lines.append)
    assert lines == [f"digits · label-flipping · seed {seed}" for seed in (1, 2)]
    monkeypatch.setattr(markets, "watch", None)
    assert watch_all(divisions, Runtime(), out=out) == both == read_sights(out)
    assert first == both[:1]


def test_wrong_names_are_refused_before_anything_trains() -> None:
    with pytest.raises(InputError, match="unknown case nothing: choose among backdoor"):
        bench_separation(cases=["nothing"])
    with pytest.raises(InputError, match="unknown mean 'most'"):
        bench_separation(mean="most")
    with pytest.raises(InputError, match="unknown dataset"):
        bench_separation(datasets=["nothing"])
    with pytest.raises(InputError, match="needs two seeds, got 1"):
        bench_separation(seeds=[3, 3])
    with pytest.raises(InputError, match="two seeds or more"):
        tell_apart([sight(1)])


def test_a_file_of_something_else_is_refused(tmp_path) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text('{"dataset": "trec"}\n')
    with pytest.raises(InputError, match="holds no measured separation"):
        read_told(file)
    with pytest.raises(InputError, match="holds no markets"):
        read_sights(file)
    with pytest.raises(InputError, match="holds no measured separation"):
        read_told(tmp_path / "missing.jsonl")


def test_a_market_that_is_measured_again_replaces_the_old_line(tmp_path) -> None:
    file = tmp_path / "kept.jsonl"
    old, new = (tell_apart([sight(seed, longer=by) for seed in range(2)]) for by in (0.0, 8.0))
    keep_told(file, [old])
    keep_told(file, [new])
    assert read_told(file)[0].auc == new.auc == 1.0 and len(read_told(file)) == 1
    assert "| 1.00 ± 0.00 |" in told_table(read_told(file)).splitlines()[2]


def test_the_command_measures_keeps_and_shows(tmp_path) -> None:
    kept, seen = tmp_path / "kept.jsonl", tmp_path / "seen.jsonl"
    small = ["--cases", "backdoor", "--seeds", "20,21,22", "--epochs", "2", "--out", str(seen), "--keep", str(kept)]
    done = CliRunner().invoke(app, ["bench", "separation", *small, "--json"])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)
    assert found["auc"] > 0.95 and found["seeds"] == 3 and len(seen.read_text().splitlines()) == 3
    shown = CliRunner().invoke(app, ["bench", "separation", "--show", str(kept)])
    assert shown.exit_code == 0 and "| digits | backdoor | 6 of 19 | 3 × 2 |" in shown.output


def test_the_command_names_a_wrong_seed() -> None:
    done = CliRunner().invoke(app, ["bench", "separation", "--seeds", "one"])
    assert done.exit_code != 0 and "one" in str(done.exception)


def test_the_page_shows_the_kept_table() -> None:
    page = (ROOT / "docs" / "selection-limits.md").read_text(encoding="utf-8")
    assert told_table(read_told(KEPT)) in page
