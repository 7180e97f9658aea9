"""`martfl model …`: a market's model as files that others open."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from martfl.cli.options import Config, grouped
from martfl.cli.output import JsonFlag, emit
from martfl.tables import table
from martfl.values import Json

if TYPE_CHECKING:  # rooms are imported by the commands that use them
    from martfl.chain.network import Chain
    from martfl.market.published import Held, Published

app = typer.Typer(no_args_is_help=True, help="The model that a market made: show it, take it along.")
Holder = Annotated[
    Path, typer.Argument(metavar="MARKET", help="A demo's folder, or a party's.", exists=True, file_okay=False)
]
EpochOption = Annotated[
    int | None, typer.Option("--epoch", min=1, help="Of this epoch (default: the one that stands).")
]
ChainOption = Annotated[
    str | None, typer.Option("--chain", help="Profile, URL or file of the chain (default: as the terms say).")
]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Which epoch's model, and where its chain is."""

    epoch: EpochOption = None
    chain: ChainOption = None
    config: Config = None


@app.command()
@grouped
def export(
    market: Holder,
    to: Annotated[Path, typer.Option("--to", help="A new folder for the files.")],
    which: ModelOptions,
    as_json: JsonFlag = False,
) -> None:
    """Write safetensors by name, or a PEFT folder for adapters, after checking every value against the chain."""
    from martfl.tasks.export import export_model

    with _opened(market, which.chain, which.config) as (held, opened):
        found = _checked(held, opened, which.epoch)
        files = export_model(found.layout, found.model, to, about=found.about(), task=found.task)
    result = {**_described(found), "files": [str(file) for file in files]}
    emit(result, as_json=as_json, render=lambda: [_line(found), *result["files"]])


@app.command()
@grouped
def show(market: Holder, which: ModelOptions, as_json: JsonFlag = False) -> None:
    """Its layout, epoch, hash, and how good it is on the acquirer's root data where that is known."""
    with _opened(market, which.chain, which.config) as (held, opened):
        found = _checked(held, opened, which.epoch)
    rows = [(part.name, str(part), f"{part.size:,}") for part in found.layout.parts]
    parts = table(f"{found.layout.size:,} parameters", ["tensor", "form", "numbers"], rows)
    emit(_described(found), as_json=as_json, render=lambda: [_line(found), parts])


def _checked(held: "Held", chain: "Chain", epoch: int | None) -> "Published":
    from martfl.market.published import open_model

    return open_model(held, chain, epoch=epoch)


@contextmanager
def _opened(market: Path, chain: str | None, config: Path | None) -> "Iterator[tuple[Held, Chain]]":
    from martfl.cli.audit import open_chain
    from martfl.demo.build import CHAIN
    from martfl.market.published import find_held

    held = find_held(market)
    beside = next((p / CHAIN for p in (held.journal, held.journal.parent) if (p / CHAIN).is_file()), None)
    with open_chain(chain or str(beside or held.terms.chain.profile), config) as opened:
        yield held, opened


def _described(found: "Published") -> Json:
    measured = found.measured
    return {
        **found.about(),
        "epoch": found.epoch,
        "parameters": found.layout.size,
        "layout_hash": found.layout.hash,
        "layout": found.layout.to_table(),
        "measure": measured.measure if measured else None,
        "quality": dict(measured.values) if measured else None,
    }


def _line(found: "Published") -> str:
    known = found.measured
    words = ", ".join(f"{name} {value:.4g}" for name, value in known.values.items()) if known else ""
    on_root = f"; on the acquirer's root data: {words}" if words else ""
    return f"{found.terms.name}, epoch {found.epoch}, {found.content[:16]}…, as on chain{on_root}"
