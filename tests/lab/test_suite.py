"""Experiment files: expansion, selection, resumption, failures that stay alone."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from martfl.errors import InputError
from martfl.lab.command import Request, execute, parse_seeds, parse_settings, planned_runs
from martfl.lab.config import RunConfig
from martfl.lab.metrics import RoundRow
from martfl.lab.records import to_json
from martfl.lab.result import RunResult
from martfl.lab.runner import Workers, run_all
from martfl.lab.runtime import Runtime
from martfl.lab.store import Store
from martfl.lab.suite import check_runs, describe, load_experiment, select, settings_of
from martfl.lab.workers import RunListener

CONTENT = """
title = "A title"
paper = "table1"
[run]
participants = 6
root-rows = 60
epochs = 1
rounds = 2
[grid]
rule = ["fedavg", { name = "multi-krum", label = "Krum-20", byzantine = 0.2 }]
case = [{ attack = "sybil", malicious = 0.3 }, { attack = "none" }]
seed = [0, 1]
[table]
rows = ["rule"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "example.toml"
    path.write_text(CONTENT)
    return path


class Counter(RunListener):
    def __init__(self) -> None:
        self.begun: tuple[int, int] = (0, 0)
        self.rounds: list[int] = []
        self.results: list[RunResult] = []

    def begin(self, *, total: int, skipped: int) -> None:
        self.begun = (total, skipped)

    def round(self, config: RunConfig, row: RoundRow) -> None:
        self.rounds.append(row.round)

    def done(self, result: RunResult) -> None:
        self.results.append(result)


def test_a_file_becomes_its_grid(file: Path) -> None:
    experiment = load_experiment(file)
    assert (experiment.name, experiment.title, experiment.paper) == ("example", "A title", "table1")
    assert experiment.meta == {"table": {"rows": ["rule"]}}
    assert len(experiment.runs) == 8 and len({run.identity() for run in experiment.runs}) == 8
    last = experiment.runs[-1]
    assert (last.rule, last.name, last.rule_params, last.attack, last.seed) == (
        "multi-krum", "Krum-20", {"byzantine": 0.2}, "none", 1,
    )  # fmt: skip
    assert last.root_rows == 60 and settings_of(last)["rule"] == "Krum-20"


def test_overrides_and_seeds_replace_axes(file: Path) -> None:
    runs = load_experiment(file, overrides={"rounds": 9, "rule": "median"}, seeds=[7]).runs
    assert {(run.rule, run.rounds, run.seed) for run in runs} == {("median", 9, 7)}
    assert len(runs) == 2
    tables = load_experiment(file, overrides={"attack": "free-rider", "malicious": 0.5}, seeds=[0]).runs
    assert {(run.attack, run.malicious) for run in tables} == {("free-rider", 0.5)} and len(tables) == 2


def test_only_selects_by_value(file: Path) -> None:
    runs = load_experiment(file).runs
    assert len(select(runs, ["rule=Krum-20"])) == len(select(runs, ["rule=multi-krum"])) == 4
    assert len(select(runs, ["malicious=0.30", "seed=1"])) == 2
    assert len(select(runs, ["seed=0,1"])) == 8
    with pytest.raises(InputError, match="KEY=VALUE"):
        select(runs, ["seed"])
    with pytest.raises(InputError, match="matches --only"):
        planned_runs(Request(file=file, only=("seed=9",)))


def test_finished_runs_are_skipped(file: Path, tmp_path: Path) -> None:
    request = Request(file=file, only=("seed=0",), out=tmp_path / "out")
    first, second = Counter(), Counter()
    results = execute(request, first)
    assert first.begun == (4, 0) and first.rounds == [1, 2] * 4
    assert execute(request, second) == results and second.begun == (0, 4) and not second.rounds
    store = Store(tmp_path / "out/example")
    assert store.records() == results
    rounds = store.rounds()[results[0].key]
    assert [row["round"] for row in rounds] == [1, 2] and rounds[1]["mta"] == results[0].mta


def test_a_changed_setting_is_another_run_and_a_label_is_not(file: Path) -> None:
    experiment = load_experiment(file, overrides={"rule": "fedavg"})
    relabelled = load_experiment(file, overrides={"rule": {"name": "fedavg", "label": "mean"}})
    longer = load_experiment(file, overrides={"rule": "fedavg", "rounds": 3})
    assert [run.identity() for run in experiment.runs] == [run.identity() for run in relabelled.runs]
    assert not {run.identity() for run in experiment.runs} & {run.identity() for run in longer.runs}


def test_a_failed_run_is_recorded_and_tried_again(file: Path, tmp_path: Path) -> None:
    runs = load_experiment(file, seeds=[0]).runs
    broken = Runtime(trainer="nonsense")
    (result,) = run_all(runs[:1], folder=tmp_path, runtime=broken)
    assert result.status == "failed" and "unknown trainer" in result.error
    assert [r.status for r in run_all(runs[:1], folder=tmp_path)] == ["done"]


def test_a_diverging_run_does_not_stop_the_others(file: Path, tmp_path: Path) -> None:
    runs = load_experiment(file, overrides={"rule": "fedavg", "rounds": 12}, seeds=[0]).runs
    bad = dataclasses.replace(runs[0], attack="rescaling", attack_params={"factor": -1e30}, malicious=0.5)
    results = run_all([bad, runs[1]], folder=tmp_path)
    assert [result.status for result in results] == ["diverged", "done"] and results[0].mta is None
    assert [result.status for result in Store(tmp_path).records()] == ["diverged", "done"]


def test_side_by_side_gives_the_same_results(file: Path, tmp_path: Path) -> None:
    runs = load_experiment(file, overrides={"rule": "fedavg"}, seeds=[0]).runs
    alone = run_all(runs, folder=tmp_path / "a")
    beside = run_all(runs, folder=tmp_path / "b", workers=Workers(jobs=2))

    def bare(results: list[RunResult]) -> list[dict[str, Any]]:
        return [{**to_json(result), "seconds_per_round": 0, "rule_seconds": 0} for result in results]

    assert bare(alone) == bare(beside)


def test_an_impossible_run_stops_everything_before_it_starts(file: Path, tmp_path: Path) -> None:
    listener = Counter()
    request = Request(file=file, settings={"rule": {"name": "krum", "byzantine": 0.5}}, out=tmp_path)
    with pytest.raises(InputError, match=r"digits · krum .*: Krum needs"):
        execute(request, listener)
    assert not listener.results and not (tmp_path / "example").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[grid]\nrule = 'fedavg'", "must be a list that is not empty"),
        ("[grid]\nwhatever = [1]", "no setting, so its values must be tables"),
        ("run = 3", r"\[run\] must be a table"),
        ("[run", "is not TOML"),
        ("[run]\nspeed = 2", "unknown setting speed"),
    ],
)
def test_malformed_files_are_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        load_experiment(path)
    with pytest.raises(InputError, match="no experiment file"):
        load_experiment(tmp_path / "missing.toml")


def test_settings_and_seeds_are_parsed() -> None:
    assert parse_settings(["rule=median", "biased=0.3", "quantise={bits = 8}", "root-rows=7"]) == {
        "rule": "median", "biased": 0.3, "quantise": {"bits": 8}, "root_rows": 7,
    }  # fmt: skip
    assert parse_seeds("0,2") == (0, 2)
    with pytest.raises(InputError, match="whole numbers"):
        parse_seeds("0,x")
    with pytest.raises(InputError, match="KEY=VALUE"):
        parse_settings(["rule"])


def test_the_committed_experiments_expand_and_can_be_run() -> None:
    folder = Path(__file__).parents[2] / "experiments"
    files = sorted(path for path in folder.glob("*.toml") if path.name != "lora.toml")  # run by martfl.lab.adapters
    assert files
    for path in files:
        check_runs(load_experiment(path, seeds=[0]).runs)


def test_a_run_in_words() -> None:
    assert (
        describe(RunConfig(rule="median", attack="sybil", malicious=0.3, seed=2))
        == "digits · median · sybil 30% · seed 2"
    )
