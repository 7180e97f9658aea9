"""`martfl bench …`: one command for every figure that the documentation names."""

from typing import Annotated

import typer

from martfl.cli.output import JsonFlag, emit, table

app = typer.Typer(no_args_is_help=True, help="Measure; every figure is of this run, with its peer beside it.")


@app.command()
def selection(
    providers: Annotated[list[int], typer.Option(help="Numbers of providers to time.")] = [30, 1000],  # noqa: B006
    json: JsonFlag = False,
) -> None:
    """Seconds to select among providers."""
    from martfl.bench.selection import bench_selection

    result = bench_selection(providers=tuple(providers))
    rows = [(n, f"{1000 * seconds:.1f}") for n, seconds in result.seconds.items()]
    emit(result, as_json=json, render=lambda: [table("Selection", ["providers", "ms"], rows)])
