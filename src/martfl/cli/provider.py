"""`martfl provider …`: sell updates. Join a market, claim what it owes."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from martfl.amounts import coins, parse_coins
from martfl.cli.options import Data, Insecure, Market, RoleOptions, grouped
from martfl.cli.output import JsonFlag, emit
from martfl.cli.signals import ended_by_signals
from martfl.cli.telling import introduce, say
from martfl.tables import table

if TYPE_CHECKING:  # rooms are imported by the commands that use them
    from martfl.federation.flower.roles import Connecting

app = typer.Typer(no_args_is_help=True, help="Sell: join a market, claim what it owes.")

MeterFile = Annotated[
    Path | None, typer.Option("--meter", help="Where given scores are counted (default: below ~/.martfl/meters).")
]


@dataclass(frozen=True, kw_only=True)
class ConnectingOptions:
    """Where the acquirer is."""

    superlink: Annotated[str, typer.Option("--superlink", help="The acquirer's SuperLink, host:port.")]
    authority: Annotated[
        Path | None, typer.Option("--authority", help="authority.pem from the acquirer (default: the system's).")
    ] = None
    insecure: Insecure = False

    def connecting(self) -> "Connecting":
        """The same, as the role takes it."""
        from martfl.federation.flower.roles import Connecting

        return Connecting(self.superlink, self.authority, self.insecure)


@dataclass(frozen=True, kw_only=True)
class SellingOptions:
    """What is sold."""

    data: Data
    ask: Annotated[
        str | None, typer.Option("--ask", help="What you ask for an update, in coins (default: the terms' ask).")
    ] = None
    name: Annotated[str, typer.Option("--name", help="What the acquirer may call you.")] = ""
    epochs: Annotated[int | None, typer.Option("--epochs", help="Leave when so many epochs are over.")] = None
    meter: MeterFile = None


@app.command()
@grouped
def join(market: Market, role: RoleOptions, selling: SellingOptions, where: ConnectingOptions) -> None:
    """Train when asked, commit, score, sell, check the model, get paid. Stop it with Ctrl-C."""
    from martfl.federation import compose
    from martfl.federation.flower.roles import Selling
    from martfl.market.task import load_data

    ask, account = None if selling.ask is None else parse_coins(selling.ask), role.unlock()
    place = {"account": account, "role": "provider", **role.place()}
    with ended_by_signals(), compose.open_place(market, **place) as here:
        introduce(here.terms, contract=here.trading.address, wallet=account.address)
        data, folder = load_data(selling.data), here.journal.folder.parent
        with compose.open_provider(here, data, name=selling.name, ask=ask, meter=selling.meter) as provider:
            say(f"asking {coins(provider.shelf.ask, token=here.terms.money.token)} for an update")
            Selling(provider, folder, where.connecting(), epochs=selling.epochs, say=say).run()


@app.command()
@grouped
def claim(market: Market, role: RoleOptions, meter: MeterFile = None, as_json: JsonFlag = False) -> None:
    """Do what is due without joining: put a key on chain that a buyer denies, claim what finished epochs owe."""
    from martfl.federation import compose

    place = {"account": role.unlock(), "role": "provider", **role.place()}
    with compose.open_place(market, **place) as here:
        token = here.terms.money.token
        with compose.open_provider(here, None, meter=meter) as provider:
            found = provider.watch()
    rows = [{"epoch": epoch, "wei": amount} for epoch, amount in found.items()]
    shown = [(row["epoch"], coins(row["wei"], token=token)) for row in rows]
    emit(rows, as_json=as_json, render=lambda: [table("Paid now", ("epoch", "amount"), shown)])
