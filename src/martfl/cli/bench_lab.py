"""`martfl bench lab`, `payment`, `paid`, `valuation` and `separation`: what is measured on markets of the lab."""

from pathlib import Path
from typing import Annotated

import typer

from martfl.cli.output import JsonFlag, emit
from martfl.tables import table


def add_to(app: typer.Typer) -> None:
    """Make them commands of `martfl bench`."""
    for command in (lab, payment, paid, valuation, separation):
        app.command()(command)


def lab(
    datasets: Annotated[str, typer.Option(help="Names separated by commas; all four of the paper by default.")] = "",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    data: Annotated[Path | None, typer.Option(envvar="MARTFL_DATA", help="Folder of the datasets.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of which the median time is taken.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="Trainings by each; the best counts.")] = 3,
    precision: Annotated[str, typer.Option(help="fp32, tf32 or bf16.")] = "fp32",
    json: JsonFlag = False,
) -> None:
    """Seconds a round of the lab, evaluation included, beside a plain loop over clients."""
    from martfl.lab.timing import DATASETS, bench_lab

    names = tuple(datasets.split(",")) if datasets else DATASETS
    result = bench_lab(datasets=names, device=device, data=data, rounds=rounds, repeats=repeats, precision=precision)
    rows = [
        ("clients", *(t.clients for t in result)),
        ("parameters", *(f"{t.parameters:,}" for t in result)),
        ("s a round", *(f"{t.round_s:.3f}" for t in result)),
        ("training, s", *(f"{t.train_s:.3f}" for t in result)),
        *((f"{rule} alone, s", *(f"{t.rules_s[rule]:.4f}" for t in result)) for rule in result[0].rules_s),
        ("plain loop, s", *(f"{t.plain_s:.3f}" for t in result)),
        ("ratio", *(f"{t.speedup:.1f}" for t in result)),
        ("same bits again", *("yes" if t.repeats_exactly else "NO" for t in result)),
        ("peak MB", *(f"{t.peak_mb:,.0f}" for t in result)),
    ]
    heads = ["", *(t.dataset for t in result)]
    emit(result, as_json=json, render=lambda: [table(f"The lab on {result[0].device}", heads, rows)])


def payment(
    dataset: Annotated[str, typer.Option(help="Any dataset of the lab.")] = "digits",
    participants: Annotated[int, typer.Option(min=4, help="Sellers and the buyer.")] = 13,
    rounds: Annotated[int, typer.Option(min=2, help="Rounds of a market.")] = 20,
    seeds: Annotated[int, typer.Option(min=1, help="Divisions of the data.")] = 2,
    groups: Annotated[int, typer.Option(min=0, help="Models behind the true worth; 0: rows with right labels.")] = 300,
    only: Annotated[list[str], typer.Option(help="A way to pay; all of them without it.")] = [],  # noqa: B006
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    data: Annotated[Path | None, typer.Option(envvar="MARTFL_DATA", help="Folder of the datasets.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Where to draw pay against rows and wrong labels.")] = None,
    json: JsonFlag = False,
) -> None:
    """Who is paid what, and what splitting, copying and cheating gains: ours beside every rival."""
    from martfl.bench.payment import bench_payment
    from martfl.bench.payment_tables import draw, tables
    from martfl.lab.runtime import Runtime

    runtime = Runtime(device=device, data=data)
    if figure is not None:
        draw(dataset=dataset, participants=participants, rounds=rounds, runtime=runtime, path=figure)
    found = bench_payment(
        dataset=dataset,
        participants=participants,
        rounds=rounds,
        seeds=seeds,
        groups=groups,
        runtime=runtime,
        names=tuple(only),
    )
    emit(found, as_json=json, render=lambda: tables(found))


def paid(
    file: Annotated[Path, typer.Argument(help="Markets that were measured before.")] = Path(
        "results/benches/payment-h200.jsonl"
    ),
    json: JsonFlag = False,
) -> None:
    """Payments of larger markets that were measured before, as tables in Markdown."""
    from martfl.bench.payment_kept import kept_tables, read_kept

    kept = read_kept(file)
    if json:
        emit(kept, as_json=True, render=list)
    else:
        typer.echo("\n\n".join(kept_tables(kept)))  # lines of Markdown, which no width breaks


def valuation(
    datasets: Annotated[str, typer.Option(help="Names separated by commas.")] = "digits",
    participants: Annotated[int, typer.Option(min=3, help="Sellers and the buyer.")] = 31,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    data: Annotated[Path | None, typer.Option(envvar="MARTFL_DATA", help="Folder of the datasets.")] = None,
    rounds: Annotated[int, typer.Option(min=2, help="Rounds of which the median time is taken.")] = 5,
    json: JsonFlag = False,
) -> None:
    """Seconds to value a round's updates, beside the round's training."""
    from martfl.bench.valuation import bench_valuation
    from martfl.lab.runtime import Runtime

    runtime = Runtime(device=device, data=data)
    names = tuple(datasets.split(","))
    found = bench_valuation(datasets=names, participants=participants, rounds=rounds, runtime=runtime)
    rows = [
        (t.dataset, t.sellers, f"{t.parameters:,}", f"{t.train_s:.3f}", f"{t.value_s:.4f}", f"{t.share:.1%}")
        for t in found
    ]
    heads = ["dataset", "sellers", "parameters", "training, s", "valuation, s", "share"]
    emit(found, as_json=json, render=lambda: [table("Valuation beside a round of training", heads, rows)])


def separation(
    datasets: Annotated[str, typer.Option(help="Names separated by commas.")] = "digits",
    cases: Annotated[str, typer.Option(help="Attacks separated by commas.")] = "backdoor,label-flipping",
    seeds: Annotated[str, typer.Option(help="Divisions of the data, separated by commas.")] = "20,21,22,23",
    epochs: Annotated[int, typer.Option(min=0, help="First epochs of a market; 0: 3 of images, 5 of others.")] = 0,
    mean: Annotated[str, typer.Option(help="Whose updates make the model: honest or all.")] = "honest",
    without: Annotated[str, typer.Option(help="Leave out the features whose name has this in it.")] = "",
    out: Annotated[Path | None, typer.Option(help="File of what was seen: it is added to, and goes on.")] = None,
    keep: Annotated[Path | None, typer.Option(help="File of what was found, a line a market.")] = None,
    show: Annotated[Path | None, typer.Option(help="Such a file, to be printed: nothing is trained.")] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    data: Annotated[Path | None, typer.Option(envvar="MARTFL_DATA", help="Folder of the datasets.")] = None,
    json: JsonFlag = False,
) -> None:
    """Whether attackers can be told from honest sellers at all, by a classifier that is told of other divisions."""
    from martfl.bench.separation import bench_separation
    from martfl.bench.separation.kept import keep_told, read_told, told_table
    from martfl.lab.command import parse_seeds
    from martfl.lab.runtime import Runtime

    if show is not None:
        found = read_told(show)
    else:
        found = bench_separation(
            datasets=datasets.split(","),
            cases=cases.split(","),
            seeds=parse_seeds(seeds),
            epochs=epochs,
            mean=mean,
            without=without,
            out=out,
            runtime=Runtime(device=device, data=data),
            tell=lambda line: typer.echo(line, err=True),
        )
    if keep is not None:
        keep_told(keep, found)
    if json:
        emit(found, as_json=True, render=list)
    else:
        typer.echo(told_table(found))  # lines of Markdown, which no width breaks
