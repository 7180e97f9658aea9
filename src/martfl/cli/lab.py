"""`martfl lab …`: run experiments, render their tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from martfl.cli.output import JsonFlag, emit, emit_files, table

if TYPE_CHECKING:
    from martfl.lab.result import RunResult
    from martfl.lab.workers import Listener

app = typer.Typer(no_args_is_help=True, help="Run experiments; render their tables and figures.")

METRICS = ("mta", "asr", "dac")
KeepOld = Annotated[bool, typer.Option("--keep-old", help="Show results of older code, too, marked as such.")]


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
    from martfl.lab.command import Request, execute, parse_seeds, parse_settings
    from martfl.lab.experiment import Runtime
    from martfl.lab.records import to_json
    from martfl.lab.runner import Workers

    given = {
        "rule": rule, "dataset": dataset, "attack": attack, "malicious": malicious, "biased": biased,
        "rounds": rounds, "seed": seed, "eval_every": eval_every, "precision": precision,
    }  # fmt: skip
    request = Request(
        file=file,
        settings={**{k: v for k, v in given.items() if v is not None}, **parse_settings(settings or [])},
        seeds=parse_seeds(seeds),
        only=tuple(only or ()),
        out=out,
        runtime=Runtime(device=device, trainer=trainer, memory_mb=memory_mb, data=data),
        workers=Workers(jobs, ray, gpus, seconds),
    )
    results = _with_bar(request, execute)
    single = file is None and len(results) == 1
    report = _report(request)
    if tensorboard is not None:
        from martfl.dashboard.tracking import track_lab

        track_lab(report.parent, tensorboard)
    shown = [to_json(result) for result in results]
    emit(shown[0] if single else shown, as_json=json, render=lambda: [_overview(results), f"Report: {report}"])
    if any(result.status == "failed" for result in results):
        raise typer.Exit(1)


def _report(request: Any) -> Path:
    """One HTML file beside the results, on everything that the folder holds by now."""
    from martfl.dashboard.lab_report import write_lab_report
    from martfl.lab.command import planned_runs

    planned = planned_runs(request)
    folder = next(place for place in (planned.folder, *planned.also) if (place / "runs.jsonl").is_file())
    return write_lab_report(folder, folder / "report.html")


def _with_bar(request: Any, execute: Any) -> list[RunResult]:
    """Run behind a progress bar on stderr: one line for the runs, one for the rounds of the present one."""
    with _bar() as bar:
        results: list[RunResult] = execute(request, _bar_listener(bar))
    return results


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _bar_listener(bar: Any) -> Listener:
    from martfl.lab.config import RunConfig
    from martfl.lab.metrics import RoundRow
    from martfl.lab.suite import describe
    from martfl.lab.workers import Listener

    class BarListener(Listener):
        def begin(self, *, total: int, skipped: int) -> None:
            note = f"runs ({skipped} finished before)" if skipped else "runs"
            self.all = bar.add_task(note, total=total)
            self.one = bar.add_task("", total=None, visible=False)

        def start(self, config: RunConfig) -> None:
            bar.reset(self.one, total=config.rounds, description=describe(config), visible=True)

        def round(self, config: RunConfig, row: RoundRow) -> None:
            bar.update(self.one, completed=row.round)

        def done(self, result: RunResult) -> None:
            bar.advance(self.all)
            if result.status != "done":
                bar.console.print(f"{describe(result.config)}: {result.status} {result.error}")

    return BarListener()


def _overview(results: list[RunResult]) -> Any:
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
    from martfl.lab.experiment import Runtime
    from martfl.lab.plan import load_plan, overview
    from martfl.lab.runner import Workers, run_jobs

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


@app.command("table")
def show_table(
    file: Annotated[Path, typer.Argument(help="An experiment file.")],
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("runs"),
    only: Annotated[list[str] | None, typer.Option(help="Runs with KEY=VALUE; repeatable.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show what was not run yet, too.")] = False,
    keep_old: KeepOld = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print one line per figure, unrounded.")] = False,
    json: JsonFlag = False,
) -> None:
    """The table of an experiment: what was run, with the paper's own figures in brackets."""
    from martfl.lab.render import load_results, render_table
    from martfl.lab.tables import to_csv, to_markdown, to_pages, to_records

    results = load_results(file, out=out, only=only or (), everything=everything, keep_old=keep_old)
    grid = render_table(results)
    if markdown or csv:
        typer.echo(to_markdown(grid) if markdown else to_csv(grid), nl=False)
        return
    pages = [
        table(page.title, page.header, ([cell.replace(" [", "\n[") for cell in line] for line in page.lines()))
        for page in to_pages(grid)
    ]
    emit(to_records(grid), as_json=json, render=lambda: [*pages, *grid.notes])


@app.command()
def export(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments, by file or name; all by default.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("runs"),
    csv: Annotated[bool, typer.Option("--csv", help="As CSV files.")] = False,
    to: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("export"),
    keep_old: KeepOld = False,
    json: JsonFlag = False,
) -> None:
    """Write results for spreadsheets: one file with a line a run, one with a line a round."""
    from martfl.errors import InputError
    from martfl.lab.export import export_csv

    if not csv:
        raise InputError("martfl lab export needs a format: --csv")
    chosen = [Path(name).stem for name in names or ()] or sorted(path.parent.name for path in out.glob("*/runs.jsonl"))
    written = export_csv([out / name for name in chosen], to, keep_old=keep_old)
    emit_files({kind: str(path) for kind, path in written.items()}, as_json=json)


@app.command()
def report(
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    experiments: Annotated[Path, typer.Option(help="Folder of the experiment files.")] = Path("experiments"),
    to: Annotated[Path, typer.Option(help="Folder of the pages.")] = Path("docs"),
    measure: Annotated[bool, typer.Option("--measure", help="First measure scoring and gas anew.")] = False,
    keep_old: KeepOld = False,
    json: JsonFlag = False,
) -> None:
    """Write the pages of results, tables and figures, from what was run; nothing on them is typed."""
    from martfl.lab.pages import Places, draw_page, load_page, render_page

    if measure:
        from martfl.bench.kept import keep_benches

        keep_benches(out)
    places = Places(experiments, out, to, keep_old)
    written: dict[str, str] = {}
    for path in sorted((experiments / "pages").glob("*.toml")):
        page = load_page(path)
        to.mkdir(parents=True, exist_ok=True)
        (to / f"{page.name}.md").write_text(render_page(page, places), encoding="utf-8")
        written |= {page.name: str(to / f"{page.name}.md")}
        written |= {image.stem: str(image) for image in draw_page(page, places)}
    emit_files(written, as_json=json)


@app.command("figure")
def show_figure(
    file: Annotated[Path, typer.Argument(help="An experiment file.")],
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("runs"),
    only: Annotated[list[str] | None, typer.Option(help="Runs with KEY=VALUE; repeatable.")] = None,
    to: Annotated[Path | None, typer.Option(help="Where to write it: .png, .svg or .pdf.")] = None,
    keep_old: KeepOld = False,
    json: JsonFlag = False,
) -> None:
    """Draw the figure of an experiment; beside the results, unless told where."""
    from martfl.lab.figures import save
    from martfl.lab.render import load_results, render_figure

    canvas = render_figure(load_results(file, out=out, only=only or (), keep_old=keep_old))
    emit_files({"figure": str(save(canvas, to or out / file.stem / f"{file.stem}.png"))}, as_json=json)
