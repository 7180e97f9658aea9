"""TensorBoard events, read back from the files."""

import pytest

from martfl.dashboard.reading import read_story
from martfl.dashboard.tracking import track
from martfl.lab.config import make_config
from martfl.lab.runner import run_all
from martfl.lab.store import Store

pytest.importorskip("tensorboard")


def scalars(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in events.Tags()["scalars"]}


def test_a_market_epoch_by_epoch(made_up, tmp_path):
    folder = made_up(providers=4, epochs=3)
    found = scalars(track(folder, tmp_path / "board"))
    story = read_story(folder)
    assert found["accuracy/root"] == pytest.approx({e.number: e.accuracy for e in story.epochs})
    assert found["money/paid"] == pytest.approx({e.number: e.paid / 10**18 for e in story.epochs})
    weights = {tag: values for tag, values in found.items() if tag.startswith("weight/")}
    assert len(weights) == 4 and sum(values[1] for values in weights.values()) == pytest.approx(1.0, abs=1e-3)


def test_a_lab_round_by_round(tmp_path):
    runs = [make_config({"participants": 4, "root_rows": 60, "epochs": 1, "rounds": 2, "rule": "fedavg"})]
    (result,) = run_all(runs, folder=tmp_path / "runs")
    track(tmp_path / "runs", tmp_path / "board")
    (board,) = (tmp_path / "board").iterdir()
    rows = Store(tmp_path / "runs").rounds()[result.key]
    expected = {int(row["round"]): row["mta"] for row in rows if row["mta"] is not None}
    assert expected and scalars(board)["mta"] == pytest.approx(expected)
