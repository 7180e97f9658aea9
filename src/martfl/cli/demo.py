"""`martfl demo`: the whole market on one machine, and a story at the end."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from martfl.cli.output import JsonFlag, console, emit, table

if TYPE_CHECKING:
    from martfl.demo import DemoOptions, DemoResult

ETHER = 10**18
STEPS = 6  # that an epoch tells about


def demo(
    providers: Annotated[int, typer.Option(help="How many providers sell.")] = 10,
    epochs: Annotated[int, typer.Option(help="How many epochs to trade.")] = 5,
    attack: Annotated[str, typer.Option(help="What malicious providers do; 'mixed' shows several.")] = "mixed",
    malicious: Annotated[float, typer.Option(help="Share of malicious providers.")] = 0.3,
    settlement: Annotated[str, typer.Option(help="exact or sampled.")] = "exact",
    rule: Annotated[str, typer.Option(help="Selection rule: evidence, or martfl as in the paper.")] = "evidence",
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for chain, journals, models, report.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with an interrupted demo in this folder.")] = None,
    json: JsonFlag = False,
) -> None:
    """Run a market in one process: embedded chain, real providers, some of which attack."""
    from martfl.demo.build import DemoOptions, remembered_options
    from martfl.demo.result import to_json

    who = {"providers": providers, "attack": attack, "malicious": malicious}
    how = {"epochs": epochs, "settlement": settlement, "rule": rule, "seed": seed}
    chosen = DemoOptions(**who, **how)  # type: ignore[arg-type]
    folder = resume or out or Path(tempfile.mkdtemp(prefix="martfl-demo-"))
    result = _run(remembered_options(folder) if resume else chosen, folder, quiet=json or not console.is_terminal)
    emit(to_json(result), as_json=json, render=lambda: _story(result))


def _run(options: "DemoOptions", folder: Path, *, quiet: bool) -> "DemoResult":
    from martfl.demo import run_demo

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=quiet, transient=True) as progress:
        bar = progress.add_task("setting up", total=options.epochs * STEPS)

        def tell(epoch: int, step: str, text: str) -> None:
            progress.update(bar, description=f"epoch {epoch}: {step}")
            progress.advance(bar)
            progress.console.print(f"  [dim]epoch {epoch}[/] {step:8} {escape(text)}") if not quiet else None

        return run_demo(options, folder, tell=tell)


def _story(result: "DemoResult") -> list[Any]:
    return [_epochs(result), _parties(result), *_reasons(result), _money(result)]


def _epochs(result: "DemoResult") -> Table:
    rows: list[tuple[object, ...]] = [("start", f"{100 * result.mta_start:.1f}", "", "", "", "", "")]
    for e in result.epochs:
        judged = (len(e.weights), len(e.dropped), len(e.caught))
        verdict = "verified" if e.verified else e.phase.lower()
        costs = (_ether(sum(e.paid.values())), f"{sum(e.gas.values()):,}")
        rows.append((f"{e.epoch} {verdict}", f"{100 * e.mta:.1f}", *judged, *costs))
    return table("Epoch by epoch", ["epoch", "accuracy %", "bought", "dropped", "caught", "paid", "gas"], rows)


def _parties(result: "DemoResult") -> Table:
    grid = Table(title="Who was paid what", title_justify="left")
    for heading, side in (("provider", "left"), ("really", "left"), ("by epoch", "left"), ("paid", "right")):
        grid.add_column(heading, justify=side)  # type: ignore[arg-type]
    for name, behaviour in result.providers.items():
        marks = " ".join(_mark(epoch, name) for epoch in result.epochs)
        paid = sum(epoch.paid.get(name, 0) for epoch in result.epochs)
        grid.add_row(escape(name), behaviour, marks, _ether(paid))
    grid.caption = "+ bought by weight  · not drawn  o looked at  - dropped  ! caught cheating"
    return grid


def _mark(epoch: Any, name: str) -> str:
    if name in epoch.caught:
        return "[red]![/]"
    if name in epoch.weights:
        return "[green]+[/]"
    if name in epoch.paid:
        return "[yellow]o[/]"
    return "[yellow]-[/]" if name in epoch.dropped else "[dim]·[/]"


def _reasons(result: "DemoResult") -> list[str]:
    """The last word on everybody who was dropped or caught."""
    lines: dict[str, str] = {}
    for epoch in result.epochs:
        for name in epoch.dropped:
            lines[name] = f"epoch {epoch.epoch}: dropped: {epoch.reasons[name]}"
        for name, why in epoch.caught.items():
            lines[name] = f"epoch {epoch.epoch}: caught: {why}"
    return [f"[bold]{escape(name)}[/] {escape(why)}" for name, why in lines.items()]


def _money(result: "DemoResult") -> str:
    return (
        f"\nDeposited {_ether(result.deposited)} = paid to providers {_ether(result.paid_out)}"
        f" + back to the acquirer {_ether(result.refunded)} + left {result.left_in_contract} wei\n"
        f"Final model {result.model_hash[:16]}…, checked against the chain\n"
        f"Everything lies in {escape(result.folder)}" + (f"\nReport: {escape(result.report)}" if result.report else "")
    )


def _ether(wei: int) -> str:
    return f"{wei / ETHER:.4f} ETH"
