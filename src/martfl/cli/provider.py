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

    superlink: Annotated[
        str | None, typer.Option("--superlink", help="The acquirer's SuperLink, host:port (default: the invitation's).")
    ] = None
    authority: Annotated[
        Path | None, typer.Option("--authority", help="authority.pem (default: the invitation's, or the system's).")
    ] = None
    insecure: Insecure = False

    def check(self, market: Path, config: Path | None) -> None:
        """What can be refused before a password is asked for."""
        from martfl.errors import InputError
        from martfl.federation.invitation import read_invitation, require_chain
        from martfl.market.terms import load_terms

        if invited := read_invitation(market):
            require_chain(invited, profile=load_terms(market).chain.profile, config=config)
        elif self.superlink is None:
            raise InputError(f"{market} is no invitation: ask the buyer for one, or say --superlink host:port")

    def connecting(self, market: Path, folder: Path) -> "Connecting":
        """The same, as the role takes it; what is not said comes from the invitation."""
        from martfl.federation.flower.roles import Connecting
        from martfl.federation.invitation import read_invitation

        invited = read_invitation(market)
        superlink = self.superlink or (invited.superlink if invited else "")
        if invited is None or self.authority or self.insecure:
            return Connecting(superlink, self.authority, self.insecure)
        return Connecting(superlink, _stored(invited.authority, folder), invited.insecure)


@dataclass(frozen=True, kw_only=True)
class SellingOptions:
    """What is sold."""

    data: Data
    ask: Annotated[
        str | None, typer.Option("--ask", help="What you ask for an update, in coins (default: the terms' ask).")
    ] = None
    answers: Annotated[
        int, typer.Option("--answers", min=1, help="Scores that you give a buyer between two sales, at most.")
    ] = 16
    name: Annotated[str, typer.Option("--name", help="What the acquirer may call you.")] = ""
    epochs: Annotated[int | None, typer.Option("--epochs", help="Leave when so many epochs are over.")] = None
    meter: MeterFile = None


@app.command()
@grouped
def join(market: Market, role: RoleOptions, selling: SellingOptions, where: ConnectingOptions) -> None:
    """Train when asked, commit, score, sell, check the model, get paid. Stop it with Ctrl-C.

    MARKET is the buyer's invitation; or the terms, and then --superlink says where the buyer is.
    """
    from martfl.federation import compose
    from martfl.federation.flower.roles import Selling
    from martfl.tasks.loading import load_data

    where.check(market, role.config)
    ask, account = None if selling.ask is None else parse_coins(selling.ask), role.unlock()
    place = {"account": account, "role": "provider", **role.place()}
    with ended_by_signals(), compose.open_place(market, **place) as here:
        introduce(here.terms, contract=here.trading.address, wallet=account.address)
        data, folder = load_data(selling.data), here.journal.folder.parent
        seller = compose.open_provider(
            here, data, name=selling.name, ask=ask, answers=selling.answers, meter=selling.meter
        )
        with seller as provider:
            say(f"asking {coins(provider.shelf.ask, token=here.terms.money.token)} for an update")
            Selling(provider, folder, where.connecting(market, folder), epochs=selling.epochs, say=say).run()


def _stored(authority: str, folder: Path) -> Path | None:
    """The invitation's certificate as a file, which is what Flower reads."""
    if not authority:
        return None
    file = folder / "authority.pem"
    file.write_text(authority, encoding="ascii")
    return file


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
