"""`martfl lab run` and `martfl lab plan`: run experiments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from martfl import waiting
from martfl.cli import lab_show
from martfl.cli.output import JsonFlag, emit
from martfl.tables import table

if TYPE_CHECKING:
    from rich.progress import Progress

    from martfl.lab.command import Request
    from martfl.lab.result import RunResult
    from martfl.lab.workers import RunListener

app = typer.Typer(no_args_is_help=True, help="Run experiments; render their tables and figures.")

METRICS = ("mta", "asr", "dac")


@app.command()
def run(
    file: Annotated[Path | None, typer.Argument(help="An experiment file; without one, a single run.")] = None,
    rule: Annotated[str | None, typer.Option(help="How the updates are aggregated.")] = None,
    dataset: Annotated[str | None, typer.Option(help="What is trained on.")] = None,
    attack: Annotated[str | None, typer.Option(help="What malicious providers do.")] = None,
    malicious: Annotated[float | None, typer.Option(help="Share of the providers, 0 to 0.9.")] = None,
    biased: Annotated[float | None, typer.Option(help="Share of the providers with biased data.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds of each run.")] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of a single run.")] = None,
    seeds: Annotated[str, typer.Option(help="Seeds separated by commas.")] = "",
    eval_every: Annotated[int | None, typer.Option(help="Rounds between two evaluations.")] = None,
    precision: Annotated[str | None, typer.Option(help="fp32, tf32 or bf16.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Any other setting, KEY=VALUE.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Runs of the file with KEY=VALUE; repeatable.")] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    trainer: Annotated[str, typer.Option(help="auto, batched or loop.")] = "auto",
    memory_mb: Annotated[int | None, typer.Option(help="Memory that training may take.")] = None,
    jobs: Annotated[int, typer.Option(help="Runs side by side, a process each.")] = 1,
    ray: Annotated[str | None, typer.Option(help="Run on the Ray cluster at this address, or auto.")] = None,
    gpus: Annotated[float, typer.Option(help="GPUs of a run on a cluster; may be a fraction.")] = 1.0,
    seconds: Annotated[float | None, typer.Option(help="Begin no run after so many seconds.")] = None,
    data: Annotated[Path | None, typer.Option(envvar="MARTFL_DATA", help="Folder of the datasets.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("runs"),
    tensorboard: Annotated[Path | None, typer.Option(help="Write curves for TensorBoard into this folder.")] = None,
    json: JsonFlag = False,
) -> None:
    """Run an experiment file, or a single run by its settings; finished runs are skipped, interrupted ones continue."""
    from martfl.lab.command import Request, parse_seeds, parse_settings
    from martfl.lab.runner import Workers
    from martfl.lab.runtime import Runtime

    given = {"rule": rule, "dataset": dataset, "attack": attack, "malicious": malicious, "biased": biased,
             "rounds": rounds, "seed": seed, "eval_every": eval_every, "precision": precision}  # fmt: skip
    chosen = {key: value for key, value in given.items() if value is not None} | parse_settings(settings or [])
    runtime = Runtime(device=device, trainer=trainer, memory_mb=memory_mb, data=data)
    workers = Workers(jobs, ray, gpus, seconds)
    _run(Request(file, chosen, parse_seeds(seeds), tuple(only or ()), out, runtime, workers), tensorboard, json)


def _run(request: Request, tensorboard: Path | None, as_json: bool) -> None:
    from martfl.lab.records import to_json

    results = _with_bar(request)
    report = _report(request)
    if tensorboard is not None:
        from martfl.dashboard.tracking import track_lab

        track_lab(report.parent, tensorboard)
    shown = [to_json(result) for result in results]
    single = request.file is None and len(results) == 1
    emit(shown[0] if single else shown, as_json=as_json, render=lambda: [_overview(results), f"Report: {report}"])
    if any(result.status == "failed" for result in results):
        raise typer.Exit(1)


def _report(request: Request) -> Path:
    """One HTML file beside the results, on everything that the folder holds by now."""
    from martfl.dashboard.lab_report import write_lab_report
    from martfl.lab.command import planned_runs
    from martfl.lab.folders import holds_results

    planned = planned_runs(request)
    folder = next(filter(holds_results, (planned.folder, *planned.also)))
    return write_lab_report(folder, folder / "report.html")


def _with_bar(request: Request) -> list[RunResult]:
    """Run behind a progress bar on stderr: one line for the runs, one for the rounds of the present one."""
    from martfl.lab.command import execute

    with _bar() as bar:
        return execute(request, _bar_listener(bar))


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _bar_listener(bar: Progress) -> RunListener:
    from martfl.lab.config import RunConfig
    from martfl.lab.metrics import RoundRow
    from martfl.lab.suite import describe
    from martfl.lab.workers import RunListener

    class BarListener(RunListener):
        def begin(self, *, total: int, skipped: int) -> None:
            self.finished, self.total = 0, total
            note = f"runs ({skipped} finished before)" if skipped else "runs"
            self.all = bar.add_task(note, total=total)
            self.one = bar.add_task("", total=None, visible=False)
            if bar.disable:
                waiting.tell("runs", 0, total)

        def start(self, config: RunConfig) -> None:
            bar.reset(self.one, total=config.rounds, description=describe(config), visible=True)

        def round(self, config: RunConfig, row: RoundRow) -> None:
            bar.update(self.one, completed=row.round)
            if bar.disable:
                waiting.tell(describe(config), row.round, config.rounds)

        def done(self, result: RunResult) -> None:
            bar.advance(self.all)
            if result.status != "done":
                bar.console.print(f"{describe(result.config)}: {result.status} {result.error}", markup=False)
            self.finished += 1
            if bar.disable:  # no terminal: lines instead of a bar
                waiting.tell("runs", self.finished, self.total)

    return BarListener()


def _overview(results: list[RunResult]) -> Table:
    from martfl.lab.suite import describe

    rows = [
        (describe(result.config), result.status, *(_percent(getattr(result, name)) for name in METRICS),
         result.rounds or "–", _seconds(result.seconds_per_round))
        for result in results
    ]  # fmt: skip
    return table("Runs", ["run", "status", *(f"{name} %" for name in METRICS), "rounds", "s a round"], rows)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


@app.command()
def plan(
    file: Annotated[Path, typer.Argument(help="A plan file.")],
    run: Annotated[bool, typer.Option("--run", help="Run what is left, in order.")] = False,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("runs"),
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    jobs: Annotated[int, typer.Option(help="Runs side by side, a process each.")] = 1,
    ray: Annotated[str | None, typer.Option(help="Run on the Ray cluster at this address, or auto.")] = None,
    gpus: Annotated[float, typer.Option(help="GPUs of a run on a cluster; may be a fraction.")] = 1.0,
    seconds: Annotated[float | None, typer.Option(help="Begin no run after so many seconds.")] = None,
    data: Annotated[Path | None, typer.Option(envvar="MARTFL_DATA", help="Folder of the datasets.")] = None,
    json: JsonFlag = False,
) -> None:
    """What of a plan is done, what is left and how long that takes; or run it, the most important runs first."""
    from martfl.lab.plan import load_plan, overview
    from martfl.lab.runner import Workers, run_jobs
    from martfl.lab.runtime import Runtime

    found = load_plan(file, out=out)
    if run:
        runtime, workers = Runtime(device=device, data=data), Workers(jobs, ray, gpus, seconds)
        with _bar() as bar:
            run_jobs(found.jobs(), runtime=runtime, workers=workers, listener=_bar_listener(bar))
        found = load_plan(file, out=out)
    shown = overview(found)
    rows = [(row.step, f"{row.done}/{row.runs}", f"{row.seconds:,.0f}", f"{row.total:,.0f}") for row in shown]
    heads = ["step", "done", "s left", "s left in all"]
    emit(shown, as_json=json, render=lambda: [table(found.title, heads, rows)])


lab_show.add_to(app)
