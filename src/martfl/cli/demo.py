"""`martfl demo`: the whole market on one machine, and a story at the end."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from martfl.amounts import COIN, coins
from martfl.cli.options import grouped
from martfl.cli.output import JsonFlag, emit
from martfl.cli.telling import Telling, progress
from martfl.tables import FittingTable, table

if TYPE_CHECKING:
    from martfl.demo import DemoOptions, DemoResult
    from martfl.demo.result import EpochResult
    from martfl.market.epoch import Tell
    from martfl.market.journal import Journal

Line = Callable[[int, str, str], None]  # epoch, step, what there is to say about it
SHARES = ("accuracy", "auc", "likelihood")  # measures that are shares of one
STEPS = 5  # that an epoch tells about
PATIENCE_S = 20.0  # between two lines about a training, where there is no terminal
MARKS = "+ in the model  o bought, no weight  - left out  · not chosen  ! caught\n"
IN_BRACKETS = "in brackets: where the truth is, nine times in ten\n"
DELAY = (
    "sampled settlement: every epoch waits for a delay of 2^24 squarings, about 20 s of one core, and for a proof; "
    "before the first, the circuit's key is made, about a minute"
)


@dataclass(frozen=True, kw_only=True)
class MarketOptions:
    """What kind of market it is. Whatever is not chosen is as in the task's own demo."""

    task: Annotated[str, typer.Option(help="digits, hospitals, or lora (a language model).")] = "digits"
    providers: Annotated[int | None, typer.Option(help="How many providers sell digits (10).")] = None
    epochs: Annotated[int | None, typer.Option(help="How many epochs to trade (5; hospitals 6; lora 2).")] = None
    attack: Annotated[
        str | None, typer.Option(help="What malicious providers of digits do (mixed: several kinds).")
    ] = None
    malicious: Annotated[float | None, typer.Option(help="Share of malicious providers of digits (0.3).")] = None
    settlement: Annotated[str, typer.Option(help="exact or sampled.")] = "exact"
    rule: Annotated[str, typer.Option(help="Selection rule: evidence, or martfl as in the paper.")] = "evidence"
    value: Annotated[
        str, typer.Option(help="What weights go by: information (what updates add), or none (as the rule weighs).")
    ] = "information"
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 0


@grouped
def demo(
    market: MarketOptions,
    out: Annotated[Path | None, typer.Option(help="Folder for chain, journals, models, report.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with an interrupted demo in this folder.")] = None,
    json: JsonFlag = False,
) -> None:
    """Run a market in one process: embedded chain, real providers, some of which attack."""
    from martfl.demo import run_demo
    from martfl.demo.options import choose, remembered_options
    from martfl.demo.result import to_json
    from martfl.market.terms_parts import SettlementTerms

    chosen = choose(**asdict(market))
    folder = resume or out or Path(tempfile.mkdtemp(prefix="martfl-demo-"))
    options = remembered_options(folder) if resume else chosen
    with _lines(options, quiet=json) as (line, trained):
        if SettlementTerms(scheme=options.settlement).needs_proof:
            line(0, "delay", DELAY)
        result = run_demo(options, folder, telling=_telling(line), progress=trained)
    emit(to_json(result), as_json=json, render=lambda: _story(result))


def _telling(line: Line) -> "Callable[[Journal], Tell]":
    return lambda journal: Telling(journal, line)


@contextmanager
def _lines(options: "DemoOptions", *, quiet: bool) -> Iterator[tuple[Line, Callable[[int, int], None]]]:
    """Where lines go: nowhere, under a bar at a terminal, or one after the other elsewhere; and how far training is."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    hidden = quiet or not progress.is_terminal
    with Progress(*columns, console=progress, disable=hidden, transient=True) as bars:
        bar = bars.add_task("setting up", total=options.epochs * STEPS)
        training = bars.add_task("training", total=None, visible=False)

        def line(epoch: int, step: str, text: str) -> None:
            if quiet:
                return
            where = f"epoch {epoch}" if epoch else "note"
            bars.console.print(f"  [dim]{where}[/] {step:8} {escape(text)}")
            if step not in ("caught", "late", "delay"):
                bars.update(bar, advance=1, description=f"{where}: after {step}")

        said = time.monotonic()

        def trained(done: int, total: int) -> None:
            nonlocal said
            text = f"training: batch {done} of {total}"
            bars.update(training, description=text, completed=done, total=total, visible=done < total)
            if hidden and not quiet and time.monotonic() - said > PATIENCE_S:
                said = time.monotonic()
                bars.console.print(f"  {text}")

        yield line, trained


def _story(result: "DemoResult") -> list[RenderableType]:
    added = _added(result)
    return [_epochs(result), _parties(result), MARKS, *added, *_reasons(result), *_told(result), _money(result)]


def _told(result: "DemoResult") -> list[str]:
    return [f"\n[bold]{escape(name)}[/]\n{escape(text)}" for name, text in result.told.items()]


def _epochs(result: "DemoResult") -> Table:
    caught = any(e.caught for e in result.epochs) or len(_shown(result.quality_start)) == 1
    rows: list[tuple[object, ...]] = [("start", *_measures(result.quality_start), *[""] * (5 + caught))]
    for e in result.epochs:
        judged = (len(e.prices), len(e.weights), *([len(e.caught)] if caught else []))
        verdict = "verified" if e.verified else e.phase.lower()
        paid, bonus = sum(e.paid.values()), sum(e.bonus.values())
        costs = (_ether(paid - bonus), _ether(bonus), f"{sum(e.gas.values()) / 10**6:.2f}M")
        rows.append((f"{e.epoch} {verdict}", *_measures(e.quality), *judged, *costs))
    heads = [
        "epoch",
        *_shown(result.quality_start),
        "bought",
        "in model",
        *(["caught"] if caught else []),
        "prices",
        "bonus",
        "gas",
    ]
    return table("Epoch by epoch, amounts in ETH", heads, rows)


def _shown(quality: dict[str, float]) -> list[str]:
    """The measures that have a column: of classifiers, the loss has none."""
    return [name for name in quality if name != "loss" or "accuracy" not in quality]


def _measures(quality: dict[str, float]) -> list[str]:
    return [f"{100 * quality[n]:.1f} %" if n in SHARES else f"{quality[n]:.3f}" for n in _shown(quality)]


def _parties(result: "DemoResult") -> Table:
    grid = FittingTable(title="Who was paid what, in ETH", title_justify="left")
    for heading, side in (("provider", "left"), ("really", "left"), ("by epoch", "left"), ("prices", "right"),
                          ("bonus", "right"), ("paid", "right")):  # fmt: skip
        grid.add_column(heading, justify=side)  # type: ignore[arg-type]
    for name, behaviour in result.providers.items():
        marks = " ".join(_mark(epoch, name) for epoch in result.epochs)
        paid = sum(epoch.paid.get(name, 0) for epoch in result.epochs)
        bonus = sum(epoch.bonus.get(name, 0) for epoch in result.epochs)
        grid.add_row(escape(name), behaviour, marks, _ether(paid - bonus), _ether(bonus), _ether(paid))
    return grid


def _mark(epoch: "EpochResult", name: str) -> str:
    if name in epoch.caught:
        return "[red]![/]"
    if name in epoch.weights:
        return "[green]+[/]"
    if name in epoch.prices:
        return "[yellow]o[/]"
    return "[yellow]-[/]" if name in epoch.dropped else "[dim]·[/]"


def _added(result: "DemoResult") -> list[RenderableType]:
    """What updates added in the last epoch whose model has any, and the part of the bonus that this came to."""
    from martfl.valuation import brief, brief_share

    told = [epoch for epoch in result.epochs if epoch.added]
    if not told:
        return []
    last = told[-1]
    order = sorted(last.added, key=lambda name: -last.weights[name])
    rows = [
        (escape(name), brief(one), brief_share(one), f"{100 * last.weights[name]:.1f} %")
        for name, one in ((name, last.added[name]) for name in order)
    ]
    title = f"What updates added in epoch {last.epoch}, on a row of the buyer's data"
    return [table(title, ("provider", "added", "of all value", "of the bonus"), rows), IN_BRACKETS]


def _reasons(result: "DemoResult") -> list[str]:
    """The last word on everybody who was bought and has no weight, left out or caught."""
    lines: dict[str, str] = {}
    for epoch in result.epochs:
        for name in epoch.prices.keys() - epoch.weights.keys() - epoch.caught.keys():
            lines[name] = f"epoch {epoch.epoch}: bought, no weight: {epoch.reasons[name]}"
        for name in epoch.dropped:
            lines[name] = f"epoch {epoch.epoch}: left out: {epoch.reasons[name]}"
        for name, why in epoch.caught.items():
            lines[name] = f"epoch {epoch.epoch}: caught: {why}"
    return [f"[bold]{escape(name)}[/] {escape(why)}" for name, why in sorted(lines.items())]


def _money(result: "DemoResult") -> str:
    lost = f" + forfeited {coins(result.unclaimable)}" if result.unclaimable else ""
    return (
        f"\nDeposited {coins(result.deposited)} = paid to providers {coins(result.paid_out)}"
        f" + back to the acquirer {coins(result.refunded)}{lost} + left {coins(result.left_in_contract)}\n"
        f"Final model {result.model_hash[:16]}…, checked against the chain\n"
        f"Everything lies in {escape(result.folder)}" + (f"\nReport: {escape(result.report)}" if result.report else "")
    )


def _ether(wei: int) -> str:
    return f"{wei / COIN:.4f}"
