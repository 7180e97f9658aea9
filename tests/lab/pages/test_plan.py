"""Plans: the most important runs first, each once, and only what is left."""

import json
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from martfl.cli import app
from martfl.errors import InputError
from martfl.lab.__main__ import main
from martfl.lab.plan import load_plan, overview
from martfl.lab.runner import Workers, run_jobs
from martfl.lab.store import Store

ROOT = Path(__file__).parents[3]
RUN = "[run]\nrounds = 2\nparticipants = 6\nroot_rows = 60\n"
FILES = {
    "first": RUN + "[grid]\nrule = ['fedavg', 'median']\nseed = [0, 1]\n",
    "second": "also = ['first']\n" + RUN + "[grid]\nrule = ['fedavg', 'oracle']\nseed = [0, 1]\n",
    "plans/here": """
title = "Here"
[pace]
digits = 0.5
[slower]
median = 3.0
[[step]]
file = "first"
only = ["seed=0"]
why = "to begin with"
[[step]]
file = "second"
[[step]]
file = "first"
""",
}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "experiments" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "experiments/plans/here.toml"


def rows(plan: Path, out: Path) -> list[tuple[int, int, float, float]]:
    return [(row.done, row.runs, row.seconds, row.total) for row in overview(load_plan(plan, out=out))]


def test_steps_come_in_order_and_share_what_they_have_in_common(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    assert rows(plan, out) == [(0, 2, 4.0, 4.0), (0, 4, 3.0, 7.0), (0, 4, 3.0, 10.0)]
    jobs = load_plan(plan, out=out).jobs()
    assert [(job.folder.name, job.config.rule, job.config.seed) for job in jobs] == [
        ("first", "fedavg", 0), ("first", "median", 0),
        ("second", "fedavg", 1), ("second", "oracle", 0), ("second", "oracle", 1),
        ("first", "fedavg", 1), ("first", "median", 1),
    ]  # fmt: skip


def test_runs_that_train_alike_cost_once(plan: Path, tmp_path: Path) -> None:
    """An oracle sees no attacker: one training for both attacks, in whatever file they are."""
    attacks = "attack = ['sign-randomizing', 'label-flipping']\nrule = ['oracle', 'fedavg']\n"
    for name in ("first", "second"):
        (plan.parent.parent / f"{name}.toml").write_text(f"{RUN}malicious = 0.4\n[grid]\nseed = [0, 1]\n{attacks}")
    steps = "[[step]]\nfile = 'first'\nonly = ['seed=0']\n[[step]]\nfile = 'second'\n"
    plan.write_text(f"[pace]\ndigits = 0.5\n{steps}")
    assert [seconds for _, _, seconds, _ in rows(plan, tmp_path / "runs")] == [1 + 2, 1 + 2]


def test_what_is_done_is_left_out(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    run_jobs(load_plan(plan, out=out).jobs()[:2])
    assert rows(plan, out) == [(2, 2, 0.0, 0.0), (1, 4, 3.0, 3.0), (2, 4, 3.0, 6.0)]
    run_jobs(load_plan(plan, out=out).jobs())
    assert [row[:3] for row in rows(plan, out)] == [(2, 2, 0.0), (4, 4, 0.0), (4, 4, 0.0)]
    assert len(Store(out / "second").records()) == 3, "one of its runs was made for the other file"


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_run_begins_after_the_time_is_up(plan: Path, tmp_path: Path, jobs: int) -> None:
    out = tmp_path / "runs"
    run_jobs(load_plan(plan, out=out).jobs(), workers=Workers(jobs=jobs, seconds=0.0))
    assert not (out / "first").exists()
    began = time.monotonic()
    run_jobs(load_plan(plan, out=out).jobs(), workers=Workers(jobs=jobs, seconds=600.0))
    assert time.monotonic() - began < 600 and not load_plan(plan, out=out).jobs()


def test_both_commands(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs"
    command = ["lab", "plan", str(plan), "--run", "--out", str(out), "--json"]
    shown = json.loads(CliRunner().invoke(app, command).stdout)
    assert [(row["step"], row["done"], row["seconds"]) for row in shown] == [
        ("first seed=0", 2, 0.0), ("second", 4, 0.0), ("first", 4, 0.0),
    ]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["lab", "plan", str(plan), "--out", str(out)])
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    assert "   2/2          0 s       0 s  first seed=0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("digits = 0.5", "trec = 0.5", "no pace for digits: it has trec"),
        ('only = ["seed=0"]', 'only = ["seed=9"]', "no run of first matches seed=9"),
        ('why = "to begin with"', "colour = 1", "a step has a file, and may have only and why"),
        ("[pace]", "[pace", "is not TOML"),
    ],
)
def test_malformed_plans_are_refused(plan: Path, tmp_path: Path, old: str, new: str, message: str) -> None:
    plan.write_text(plan.read_text().replace(old, new))
    with pytest.raises(InputError, match=message):
        load_plan(plan, out=tmp_path)
    with pytest.raises(InputError, match="no plan"):
        load_plan(tmp_path / "none.toml", out=tmp_path)


@pytest.mark.parametrize("path", sorted((ROOT / "experiments/plans").glob("*.toml")), ids=lambda path: path.stem)
def test_the_committed_plans_can_be_read(path: Path, tmp_path: Path) -> None:
    assert load_plan(path, out=tmp_path).jobs()


def test_the_plans_hold_every_run_of_the_papers_experiments(tmp_path: Path) -> None:
    planned = {
        (job.folder.name, job.config.identity())
        for path in (ROOT / "experiments/plans").glob("*.toml")
        for step in load_plan(path, out=tmp_path).steps
        for job in step.jobs
    }
    names = {name for name, _ in planned}
    own = {
        path.stem for path in (ROOT / "experiments").glob("*.toml") if not path.stem.startswith(("selection", "sketch"))
    }
    assert own - names <= {"inclusiveness", "dac-under-attack", "lora"}, "those take the runs of others"
