"""`martfl bench …`: one command for every figure that the documentation names."""

from pathlib import Path
from typing import Annotated

import typer

from martfl.cli import bench_lab
from martfl.cli.output import JsonFlag, emit
from martfl.tables import table

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
    sketch: Annotated[
        int, typer.Option(min=-1, help="Entries of the sketch; 0 for none, -1 as the terms have it.")
    ] = -1,
    repeats: Annotated[int, typer.Option(min=1, help="Encryptions of which the median time is taken.")] = 3,
    json: JsonFlag = False,
) -> None:
    """Bytes, CPU seconds and errors of private scoring, beside the settings of the paper's authors."""
    from martfl.bench.scoring import bench_scoring
    from martfl.bench.scoring_tables import tables

    result = bench_scoring(parameters=parameters, repeats=repeats, sketch=None if sketch < 0 else sketch)
    emit(result, as_json=json, render=lambda: tables(result))


@app.command()
def scoring_privacy(
    parameters: Annotated[int, typer.Option(help="Parameters of the model.")] = 44_426,
    sketch: Annotated[int, typer.Option(min=-1, help="Entries of the sketch; -1 as the terms have it, or fewer.")] = -1,
    epochs: Annotated[int, typer.Option(help="Epochs in which the buyer asks about the same update.")] = 60,
    baselines: Annotated[int, typer.Option(help="Baselines that it may send in an epoch.")] = 4,
    json: JsonFlag = False,
) -> None:
    """What a buyer that picks its baselines learns of an update, with a sketch and without."""
    from martfl.bench.scoring_privacy import bench_privacy
    from martfl.bench.scoring_tables import privacy_table

    entries = None if sketch < 0 else sketch
    result = bench_privacy(parameters=parameters, sketch=entries, epochs=epochs, baselines=baselines)
    emit(result, as_json=json, render=lambda: [privacy_table(result)])


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


@app.command()
def gas(
    providers: Annotated[int, typer.Option(min=2, max=128, help="Bought providers.")] = 20,
    samples: Annotated[list[int], typer.Option(help="Numbers of samples, for sampled settlement.")] = [8, 16, 32, 64],  # noqa: B006
    gwei: Annotated[float, typer.Option(help="Gas price, for the cost in dollars.")] = 1.0,
    coin: Annotated[float, typer.Option(help="Price of the coin in dollars.")] = 3000.0,
    figure: Annotated[Path | None, typer.Option(help="Where to draw gas against the number of samples.")] = None,
    json: JsonFlag = False,
) -> None:
    """Gas of every function of the trading contracts, beside the paper's Table 5."""
    from martfl.bench.gas import bench_gas
    from martfl.bench.gas_tables import draw, tables

    report = bench_gas(providers=providers, samples=tuple(samples), gwei=gwei, coin=coin)
    if figure is not None:
        draw(report, figure)
    emit(report, as_json=json, render=lambda: tables(report))


@app.command()
def market(
    dataset: Annotated[
        str, typer.Option(help="fmnist, digits, network or lora; by default what fits the size and is at hand.")
    ] = "",
    parameters: Annotated[int, typer.Option(min=0, help="Traded parameters, of a network or of adapters.")] = 0,
    providers: Annotated[int, typer.Option(min=1, help="Providers in the market.")] = 10,
    json: JsonFlag = False,
) -> None:
    """Seconds, bytes and memory of one epoch of a market, step by step, beside the training that it trades."""
    from martfl.bench.market import bench_market

    result = bench_market(dataset=dataset, parameters=parameters, providers=providers)
    steps = [
        (name, f"{seconds:.2f}", f"{result.steps_bytes.get(name, 0):,}") for name, seconds in result.steps_s.items()
    ]
    rows = [("training", f"{result.training_s:.2f}", ""), *steps, ("market", f"{result.market_s:.2f}", "")]
    title = f"One epoch, {result.dataset}, {result.parameters:,} parameters, {result.providers} providers"
    share = f"{100 * result.market_share_of_training:.0f} % of training; bytes a parameter:"
    wire = f"score request {result.score_request_bytes_per_parameter:.2f}"
    wire += f", delivery {result.delivery_bytes_per_parameter:.2f}"
    used = [(name, f"{cpu:.2f}", f"{result.peak_mb.get(name, 0):,.0f}") for name, cpu in result.cpu_s.items()]
    parts = table("All parties in one process", ["while it does", "CPU s", "largest MB"], used)
    cpu = f"{100 * result.cpu_share_of_training:.0f} % of training by the processor's seconds"
    emit(
        result, as_json=json, render=lambda: [table(title, ["step", "s", "bytes"], rows), f"{share} {wire}", parts, cpu]
    )


@app.command()
def adapters(
    rank: Annotated[int, typer.Option(min=1, help="Of the adapters whose first factor is fixed.")] = 8,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of averaging.")] = 1,
    steps: Annotated[int, typer.Option(min=1, help="Batches that each seller trains on in a round.")] = 12,
    base: Annotated[str, typer.Option(help="A language model (default: that of the demo).")] = "",
    json: JsonFlag = False,
) -> None:
    """What fixing one factor of LoRA costs: held-out loss of averaged adapters, fixed and free."""
    from martfl.bench.adapters import bench_adapters
    from martfl.tasks.base_model import SMALL

    result = bench_adapters(rank=rank, rounds=rounds, steps=steps, base=base or SMALL)
    rows = [
        (
            one.name,
            one.rank,
            f"{one.parameters:,}",
            *(f"{loss:.3f}" for loss in one.losses),
            f"{100 * one.mismatch:.1f} %",
        )
        for one in result
    ]
    heads = ["adapters", "rank", "traded", "start", *(f"round {i + 1}" for i in range(rounds)), "mismatch"]
    emit(result, as_json=json, render=lambda: [table("Held-out loss of a token", heads, rows)])


@app.command()
def exchange(
    matching: Annotated[str, typer.Option(help="Only strategies whose name has this in it.")] = "",
    json: JsonFlag = False,
) -> None:
    """What breaking the rules comes to: named strategies, each played with real roles."""
    from rich.console import Console
    from rich.progress import Progress

    from martfl.bench.exchange import bench_exchange
    from martfl.bench.exchange.tables import tables

    with Progress(console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task("", total=None)
        report = bench_exchange(matching=matching, tell=lambda name: bar.update(job, description=name))
    emit(report, as_json=json, render=lambda: tables(report))


bench_lab.add_to(app)
