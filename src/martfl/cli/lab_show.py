"""`martfl lab table`, `figure`, `export`, `take`, `drop-old` and `report`: what is done with results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from martfl.cli.output import JsonFlag, emit, emit_files
from martfl.tables import table

KeepOld = Annotated[bool, typer.Option("--keep-old", help="Show results of older code, too, marked as such.")]


def add_to(app: typer.Typer) -> None:
    """Make them commands of `martfl lab`."""
    app.command("table")(show_table)
    app.command("export")(export)
    app.command("drop-old")(drop_old)
    app.command("take")(take)
    app.command("report")(report)
    app.command("figure")(show_figure)


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
    written = export_csv([out / name for name in _chosen(names, out)], to, keep_old=keep_old)
    emit_files({kind: str(path) for kind, path in written.items()}, as_json=json)


def take(
    folder: Annotated[Path, typer.Argument(help="Results of another machine: a folder as --out has it.")],
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("runs"),
    json: JsonFlag = False,
) -> None:
    """Add the results that another machine has made."""
    from martfl.errors import InputError
    from martfl.lab.folders import RUNS, experiments_in
    from martfl.lab.measured import FOLDER
    from martfl.lab.store import Store

    there = {path.name: Store(out / path.name).take(Store(path)) for path in experiments_in(folder)}
    benches = sorted(path for path in (folder / FOLDER).glob("*") if path.suffix in (".json", ".jsonl"))
    if not there and not benches:
        raise InputError(f"{folder} holds no results: it should have NAME/{RUNS}")
    for path in benches:
        (out / FOLDER).mkdir(parents=True, exist_ok=True)
        (out / FOLDER / path.name).write_bytes(path.read_bytes())
    emit(there, as_json=json, render=lambda: [table("Results here", ["experiment", "runs"], there.items())])


def drop_old(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments, by file or name; all by default.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("runs"),
    json: JsonFlag = False,
) -> None:
    """Remove results that were made by code which has changed since."""
    from martfl.lab.store import Store

    dropped = {name: Store(out / name).compact(drop_old=True) for name in _chosen(names, out)}
    emit(dropped, as_json=json, render=lambda: [table("Dropped", ["experiment", "runs"], dropped.items())])


def _chosen(names: list[str] | None, out: Path) -> list[str]:
    """The experiments named, or all that have results."""
    from martfl.lab.folders import experiments_in

    return [Path(name).stem for name in names] if names else [path.name for path in experiments_in(out)]


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


def show_figure(
    file: Annotated[Path, typer.Argument(help="An experiment file.")],
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("runs"),
    only: Annotated[list[str] | None, typer.Option(help="Runs with KEY=VALUE; repeatable.")] = None,
    to: Annotated[Path | None, typer.Option(help="Where: .png, .svg or .pdf; .csv for its numbers.")] = None,
    keep_old: KeepOld = False,
    json: JsonFlag = False,
) -> None:
    """Draw the figure of an experiment; beside the results, unless told where."""
    from martfl.lab.figures import save
    from martfl.lab.render import load_results, render_figure

    canvas = render_figure(load_results(file, out=out, only=only or (), keep_old=keep_old))
    emit_files({"figure": str(save(canvas, to or out / file.stem / f"{file.stem}.png"))}, as_json=json)
