"""Results for spreadsheets."""

import csv
import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from martfl.cli import app
from martfl.errors import InputError
from martfl.lab.export import export_csv
from martfl.lab.folders import ROUNDS, RUNS, experiments_in
from martfl.lab.measured import keep_bench
from martfl.lab.store import Store

ROOT = Path(__file__).parents[3]
SMALL = ["--set", "participants=6", "--set", "root_rows=60", "--rounds", "2", "--set", "quantise={bits = 16}"]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    command = ["lab", "run", "--rule", "fedavg", "--seeds", "0,1", *SMALL, "--out", str(tmp_path / "runs")]
    assert CliRunner().invoke(app, command).exit_code == 0
    return tmp_path / "runs"


def aged(store: Store) -> Store:
    """With results of older code."""
    text = gzip.decompress(store.lines.read_bytes()).decode()
    store.lines.write_bytes(gzip.compress(text.replace(store.records()[0].made.code, "0123456789ab").encode()))
    return store


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_runs_and_rounds_join(out: Path, tmp_path: Path) -> None:
    command = ["lab", "export", "--csv", "--out", str(out), "--to", str(tmp_path / "sheets"), "--json"]
    written = json.loads(CliRunner().invoke(app, command).stdout)
    runs, rounds = rows(Path(written["runs"])), rows(Path(written["rounds"]))
    assert [run["seed"] for run in runs] == ["0", "1"] and {run["experiment"] for run in runs} == {"single"}
    assert json.loads(runs[0]["quantise"]) == {"bits": 16} and runs[0]["rounds"] == runs[0]["result_rounds"] == "2"
    assert runs[0]["code"] and runs[0]["old"] == "False"
    last = [row for row in rounds if row["run"] == runs[0]["run"]][-1]
    assert len(rounds) == 4 and last["round"] == "2" and last["mta"] == runs[0]["result_mta"]


def test_results_of_older_code_are_left_out_unless_asked_for(out: Path, tmp_path: Path) -> None:
    store = aged(Store(out / "single"))
    assert not rows(export_csv([store.folder], tmp_path)["runs"])
    kept = rows(export_csv([store.folder], tmp_path, keep_old=True)["runs"])
    assert {run["old"] for run in kept} == {"True"}


def test_old_results_are_dropped_on_request(out: Path) -> None:
    store = aged(Store(out / "single"))
    result = CliRunner().invoke(app, ["lab", "drop-old", "--out", str(out), "--json"])
    assert json.loads(result.stdout) == {"single": 2} and not store.records()


def test_results_are_taken_over_with_their_benchmarks(out: Path, tmp_path: Path) -> None:
    keep_bench(out, "gas", "a machine", {})
    (out / "benches/markets.jsonl").write_text("{}\n", encoding="utf-8")
    command = ["lab", "take", str(out), "--out", str(tmp_path / "mine"), "--json"]
    assert json.loads(CliRunner().invoke(app, command).stdout) == {"single": 2}
    for name in ("gas.json", "markets.jsonl"):
        assert (tmp_path / "mine/benches" / name).read_bytes() == (out / "benches" / name).read_bytes()
    result = CliRunner().invoke(app, ["lab", "take", str(tmp_path / "nothing"), "--out", str(out)])
    assert isinstance(result.exception, InputError) and "holds no results" in str(result.exception)


def test_what_is_missing_is_said(out: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no results to export in .*other"):
        export_csv([out / "other"], tmp_path)
    result = CliRunner().invoke(app, ["lab", "export", "--out", str(out)])
    assert isinstance(result.exception, InputError) and "needs a format: --csv" in str(result.exception)


def test_the_committed_results_are_small_and_whole() -> None:
    folder = ROOT / "results"
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("report.html",)]
    kept = [path for path in files if path.parent.name != "checkpoints"]
    assert {path.name for path in kept if path.parent.name != "benches"} <= {RUNS, ROUNDS}
    assert sum(path.stat().st_size for path in kept) <= 4_000_000
    for store in map(Store, experiments_in(folder)):
        rounds = store.rounds()
        assert all(len(rounds[result.key]) == result.rounds for result in store.records())
