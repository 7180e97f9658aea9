"""From runs on disk to a table and a figure, through the command line."""

import json
from dataclasses import replace

import pytest
from PIL import Image
from typer.testing import CliRunner

from martfl.cli import app
from martfl.errors import InputError
from martfl.lab.provenance import Provenance, revision
from martfl.lab.render import load_results, render_figure, render_table
from martfl.lab.result import RunResult, key_of
from martfl.lab.runner import run_all
from martfl.lab.runtime import Runtime
from martfl.lab.store import Store
from martfl.lab.suite import load_experiment, select
from martfl.lab.workers import Job, failed

FILE = """
title = "Small"
[run]
dataset = "digits"
attack = "sign-randomizing"
rounds = 2
[grid]
malicious = [0.3, 0.4]
rule = ["martfl", { name = "multi-krum", label = "krum" }]
seed = [0, 1]
[table]
rows = ["rule"]
columns = ["malicious"]
metrics = ["mta", "dac", "asr"]
[figure]
kind = "lines"
x = "malicious"
metrics = ["mta"]
lines = "rule"
panels = ["dataset"]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.fixture
def ran(file, tmp_path):
    """Real runs: martFL at 30 %, both seeds."""
    runs = select(load_experiment(file).runs, ["rule=martfl", "malicious=0.3"])
    run_all(runs, folder=tmp_path / "runs" / "small", runtime=Runtime(workers=1))
    return file, tmp_path / "runs"


def made_up(run, **changes):
    """A result of the present code."""
    made = Provenance(revision(run, trainer="batched"), "batched", "2.0", "cpu")
    figures = {"mta": run.malicious + 0.1 * run.seed, "dac": 0.5, "rounds": 2}
    return RunResult(run.filled(), "done", made, key_of(run, made), **{**figures, **changes})


@pytest.fixture
def stored(file, tmp_path):
    """Made-up results for all runs of the file: cheap, and with known figures."""
    store = Store(tmp_path / "runs" / "small")
    for run in load_experiment(file).runs:
        store.append(made_up(run))
    return file, tmp_path / "runs"


def test_what_was_run_is_shown_in_percent_and_nothing_else(ran) -> None:
    file, out = ran
    results = load_results(file, out=out)
    grid = render_table(results)
    assert grid.names == (("martfl",),)
    assert grid.header == ("rule", "30% mta", "30% dac", "30% asr")
    mean = sum(o.metrics["mta"] for o in results.outcomes) / 2
    assert grid.figures[0][0].mean == pytest.approx(mean)
    assert 0 < grid.figures[0][1].mean <= 100
    assert str(grid.figures[0][2]) == "–"  # random signs have no target
    assert [len(o.rounds) for o in results.outcomes] == [2, 2]


def test_on_request_there_is_room_for_the_rest(ran) -> None:
    file, out = ran
    grid = render_table(load_results(file, out=out, everything=True))
    assert grid.names == (("martfl",), ("krum",))
    assert str(grid.figures[1][0]) == "–"


def test_order_and_figures_follow_the_file(stored) -> None:
    file, out = stored
    grid = render_table(load_results(file, out=out))
    assert grid.names == (("martfl",), ("krum",))
    assert [f.mean for f in grid.figures[0]][:2] == pytest.approx([35.0, 50.0])
    lines = render_figure(load_results(file, out=out)).axes[0].get_lines()
    assert lines[0].get_ydata().tolist() == pytest.approx([35.0, 45.0])


def test_a_failed_run_is_counted_and_left_out(file, tmp_path) -> None:
    first, *others = load_experiment(file).runs
    store = Store(tmp_path / "small")
    store.append(failed(Job(tmp_path, first), MemoryError("no memory"))[0])
    for run in others:
        store.append(made_up(run))
    grid = render_table(load_results(file, out=tmp_path))
    assert grid.figures[0][0].runs == 1
    assert "1 runs failed" in grid.notes[-1]


def test_results_of_older_code_are_left_out_or_marked(stored) -> None:
    file, out = stored
    first = load_experiment(file).runs[0]
    older = Provenance("0123456789ab", "batched", "2.0", "cpu")
    Store(out / "small").append(replace(made_up(first), made=older, key=key_of(first, older), mta=0.9))
    assert render_table(load_results(file, out=out, keep_old=True)).figures[0][0].mean == pytest.approx(35.0)
    Store(out / "small").lines.unlink()
    for run in load_experiment(file).runs:
        made = older if run.seed == 0 else made_up(run).made
        Store(out / "small").append(replace(made_up(run), made=made, key=key_of(run, made)))
    current, everything = (render_table(load_results(file, out=out, keep_old=old)) for old in (False, True))
    assert current.figures[0][0].runs == 1 and str(current.figures[0][0]) == "40.00"
    assert current.notes[-1] == "4 runs of older code are left out; --keep-old shows them."
    assert str(everything.figures[0][0]) == "35.00 ± 7.07†"
    assert "†: made by code that has changed since." in everything.notes
    drawn = [render_figure(load_results(file, out=out, keep_old=old)).get_suptitle() for old in (False, True)]
    assert drawn == ["Small", "Small († with results of older code)"]
    with pytest.raises(InputError, match="4 runs of older code are there, which --keep-old shows"):
        load_results(file, out=out, only=["seed=0"])


def test_runs_that_differ_out_of_sight_are_not_averaged(stored) -> None:
    file, out = stored
    store, longer = Store(out / "small"), load_experiment(file, overrides={"rounds": 5}).runs[0]
    store.append(made_up(longer))
    with pytest.raises(InputError, match=r"mix runs of one seed with rounds = 2 and 5: choose with --only"):
        render_table(load_results(file, out=out))
    assert render_table(load_results(file, out=out, only=["rounds=5"])).figures[0][0].runs == 1


def test_the_same_runs_made_for_another_file_count_where_it_is_named(stored, tmp_path) -> None:
    _, out = stored
    part = tmp_path / "part.toml"
    part.write_text('also = ["small"]\n' + FILE.replace("[0.3, 0.4]", "[0.4]"), encoding="utf-8")
    grid = render_table(load_results(part, out=out))
    assert grid.header[1:] == ("40% mta", "40% dac", "40% asr")
    assert [(f[0].mean, f[0].runs) for f in grid.figures] == [(pytest.approx(45.0), 2)] * 2


def test_the_command_line(stored, tmp_path) -> None:
    file, out = stored
    ask = CliRunner().invoke
    shown = json.loads(ask(app, ["lab", "table", str(file), "--out", str(out), "--json"]).stdout)
    assert shown[0]["mean"] == pytest.approx(0.35) and shown[0]["metric"] == "mta"
    markdown = ask(app, ["lab", "table", str(file), "--out", str(out), "--markdown"]).stdout
    assert "| martfl | 35.00 ± 7.07 | 50.00 ± 0.00 |" in markdown
    assert ask(app, ["lab", "table", str(file), "--out", str(out), "--csv"]).stdout.startswith("rule,column,runs,mean")
    assert "krum" in ask(app, ["lab", "table", str(file), "--out", str(out)]).stdout
    picture = tmp_path / "small.png"
    assert ask(app, ["lab", "figure", str(file), "--out", str(out), "--to", str(picture)]).exit_code == 0
    with Image.open(picture) as image:
        assert image.format == "PNG"


def test_nothing_run_and_nothing_to_draw_are_said(file, tmp_path) -> None:
    with pytest.raises(InputError, match=r"no results of .*small\.toml.*run it first"):
        load_results(file, out=tmp_path)
    file.write_text(FILE.split("[figure]")[0], encoding="utf-8")
    results = load_results(file, out=tmp_path, everything=True)
    with pytest.raises(InputError, match=r"small has no \[figure\]; it has \[table\]"):
        render_figure(results)
