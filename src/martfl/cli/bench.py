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


@app.command()
def scoring(
    parameters: Annotated[int, typer.Option(help="Parameters of the model.")] = 1_000_000,
    repeats: Annotated[int, typer.Option(min=1, help="Encryptions of which the median time is taken.")] = 3,
    json: JsonFlag = False,
) -> None:
    """Bytes, CPU seconds and errors of private scoring, beside the settings of the paper's authors."""
    from martfl.bench.scoring import bench_scoring

    result = bench_scoring(parameters=parameters, repeats=repeats)
    rows = [
        (name, f"{getattr(result.ours, name):.4g}", f"{getattr(result.prototype, name):.4g}", f"{ratio:.1f}")
        for name, ratio in result.ratios.items()
    ]
    rows.append(("max_error", f"{result.ours.max_error:.1e}", f"{result.prototype.max_error:.1e}", ""))
    title = f"Private scoring, {result.parameters:,} parameters"
    emit(result, as_json=json, render=lambda: [table(title, ["", "ours", "prototype", "ratio"], rows)])


@app.command()
def settlement(
    scheme: Annotated[str, typer.Option(help="exact (every parameter) or sampled (the paper's Groth16).")] = "exact",
    parameters: Annotated[int, typer.Option(min=1, help="Parameters of the model.")] = 44_000,
    providers: Annotated[int, typer.Option(min=1, help="Providers in the aggregate.")] = 20,
    samples: Annotated[int, typer.Option(min=1, help="Sampled parameters; the exact scheme checks all.")] = 64,
    json: JsonFlag = False,
) -> None:
    """CPU seconds, proof size and memory of proving and checking the aggregation."""
    from dataclasses import asdict

    from rich.console import Console
    from rich.progress import Progress

    from martfl.bench.settlement import bench_settlement

    with Progress(console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task("generators", total=None, visible=False)
        result = bench_settlement(
            scheme=scheme,
            parameters=parameters,
            providers=providers,
            samples=samples,
            progress=lambda done, total: bar.update(job, completed=done, total=total, visible=done < total),
        )
    figures = asdict(result)
    flat = {**{k: v for k, v in figures.items() if k != "details"}, **figures["details"]}
    rows = [(k, f"{v:.4g}" if isinstance(v, float) else v) for k, v in flat.items() if v is not None]
    emit(flat, as_json=json, render=lambda: [table(f"Settlement, {scheme}", ["", "measured"], rows)])
