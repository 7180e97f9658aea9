"""`martfl acquirer …`: buy updates. Deploy a market's contract, run its epochs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from martfl.amounts import coins
from martfl.cli.options import Config, Data, Insecure, Market, RoleOptions, grouped
from martfl.cli.output import JsonFlag, emit
from martfl.cli.signals import ended_by_signals
from martfl.cli.telling import Telling, introduce, say
from martfl.tables import table
from martfl.values import Json

if TYPE_CHECKING:  # rooms are imported by the commands that use them
    from martfl.federation.compose import PartyView
    from martfl.federation.flower.roles import Buying, Listening
    from martfl.market.journal import Journal
    from martfl.market.terms import Terms

app = typer.Typer(no_args_is_help=True, help="Buy: deploy a market's contract, run its epochs.")


@app.command()
def certificate(
    hosts: Annotated[list[str], typer.Argument(help="Names and addresses that providers use for this machine.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the files.")] = Path("tls"),
    as_json: JsonFlag = False,
) -> None:
    """Make the TLS files of a SuperLink. Providers need `authority.pem`, and nothing else of it."""
    from martfl.federation.flower.certificates import make_certificates

    made = make_certificates(out, hosts=hosts)
    result = {"authority": made.authority, "certificate": made.certificate, "key": made.key}
    plain = {key: str(path) for key, path in result.items()}
    emit(plain, as_json=as_json, render=lambda: [f"give to providers: {made.authority}", f"keep: {made.key}"])


@app.command()
@grouped
def deploy(market: Market, role: RoleOptions, as_json: JsonFlag = False) -> None:
    """Put the market's contract on chain, with the hash of its terms, and write the address into the file."""
    from martfl.federation import compose
    from martfl.market.terms import load_terms

    terms, account = load_terms(market), role.unlock()
    place = compose.role_folder(terms, account, role="acquirer", folder=role.folder)
    say(f"deploying market {terms.name!r} on {terms.chain.profile}: terms {terms.hash.hex()}")
    with compose.open_role_chain(terms, config=role.config, folder=place) as chain:
        trading = compose.deploy(market, chain=chain, account=account, allowed=role.allow_task or ())
    gas = trading.deployment.gas_used if trading.deployment else 0
    result = {"contract": trading.address, "block": trading.since, "gas": gas, "terms_hash": "0x" + terms.hash.hex()}
    emit(result, as_json=as_json, render=lambda: [f"contract {trading.address}, {gas:,} gas; written into {market}"])


@app.command()
def invite(
    market: Market,
    place: Annotated[str, typer.Argument(help="Where providers reach this machine, host:port.")],
    tls: Annotated[Path | None, typer.Option("--tls", help="Folder that `acquirer certificate` wrote.")] = None,
    insecure: Insecure = False,
    out: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path("invitation.toml"),
    config: Config = None,
    as_json: JsonFlag = False,
) -> None:
    """Write one file for providers: terms, address and authority. `provider join` needs nothing else of yours."""
    from martfl.chain.profiles import chain_id_of
    from martfl.federation.flower.certificates import authority_for
    from martfl.federation.invitation import Invitation, host_and_port, write_invitation
    from martfl.market.terms import load_terms

    host, _ = host_and_port(place)
    authority = authority_for(tls, host=host) if tls else ""
    chain_id = chain_id_of(load_terms(market).chain.profile, config=config)
    invitation = Invitation(superlink=place, chain_id=chain_id, authority=authority, insecure=insecure)
    write_invitation(market, out, invitation)
    result = {"invitation": str(out), "superlink": place, "chain_id": chain_id}
    said = f"give to providers: {out}. They run: martfl provider join {out.name} --keystore NAME --data FOLDER"
    emit(result, as_json=as_json, render=lambda: [said])


@dataclass(frozen=True, kw_only=True)
class ListeningOptions:
    """Where providers reach the acquirer."""

    host: Annotated[str, typer.Option("--host", help="Address that the SuperLink listens on.")] = "0.0.0.0"
    port: Annotated[int, typer.Option("--port", help="Port that the SuperLink listens on.")] = 9092
    tls: Annotated[Path | None, typer.Option("--tls", help="Folder that `acquirer certificate` wrote.")] = None
    insecure: Insecure = False

    def listening(self) -> "Listening":
        """The same, checked."""
        from martfl.errors import InputError
        from martfl.federation.flower.processes import Certificates
        from martfl.federation.flower.roles import Listening

        if (self.tls is None) != self.insecure:
            raise InputError("say either --tls FOLDER, with the files of `martfl acquirer certificate`, or --insecure")
        if self.tls is None:
            return Listening(self.host, self.port, None)
        files = (self.tls / name for name in ("authority.pem", "superlink.pem", "superlink.key"))
        return Listening(self.host, self.port, Certificates(*files))


@dataclass(frozen=True, kw_only=True)
class BuyingOptions:
    """How much is traded, with how much patience."""

    data: Data
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Trade until so many epochs are over.")] = 1
    providers: Annotated[int, typer.Option("--providers", min=1, help="Wait for so many before an epoch.")] = 1
    wait: Annotated[float | None, typer.Option("--wait", help="Seconds to wait for an answer.")] = None


@app.command()
@grouped
def run(
    market: Market, role: RoleOptions, buying: BuyingOptions, where: ListeningOptions, as_json: JsonFlag = False
) -> None:
    """Run epochs with the providers that join. Killed, it goes on where it was when it is started again."""
    from martfl.federation import compose

    listening, account = where.listening(), role.unlock()
    with (
        ended_by_signals(),
        compose.open_place(market, account=account, role="acquirer", **role.place()) as place,
    ):
        introduce(place.terms, contract=place.trading.address, wallet=account.address)
        _buying(place, role, buying, listening).run()
        done = _epochs(place.journal, buying.epochs)
        say(f"report: {_write_report(place)}")
    result = {"contract": place.terms.chain.contract, "epochs": done}
    emit(result, as_json=as_json, render=lambda: [_table(done, place.terms)])


def _buying(place: "PartyView", role: RoleOptions, options: BuyingOptions, listening: "Listening") -> "Buying":
    from martfl.federation import compose
    from martfl.federation.flower.roles import Buying
    from martfl.tasks.loading import load_data

    def line(epoch: int, step: str, text: str) -> None:
        say(f"epoch {epoch}, {step}: {text}")

    return Buying(
        place=place,
        root=load_data(options.data),
        folder=compose.role_folder(place.terms, place.account, role="acquirer", folder=role.folder),
        listening=listening,
        epochs=options.epochs,
        providers=options.providers,
        seconds=options.wait or _patience(place.terms),
        say=say,
        tell=Telling(place.journal, line, token=place.terms.money.token),
    )


def _patience(terms: "Terms") -> float:
    # Several questions fit into the shortest window, so that nobody who is silent makes the acquirer late.
    return max(5.0, min(terms.deadlines.buy, terms.deadlines.publish) / 8)


def _write_report(place: "PartyView") -> Path:
    """What happened, in one HTML file beside the journal; everybody's transactions included."""
    from martfl.dashboard.ledger import LedgerReader
    from martfl.dashboard.report import write_report

    folder = place.journal.folder
    return write_report(folder, folder / "report.html", ledger=LedgerReader(place.trading).read())


def _epochs(journal: "Journal", count: int) -> list[Json]:
    """The documented JSON form; amounts in wei, providers by address."""
    from martfl.market.steps import ModelPosted, Offers, Over, PaidOut, Purchased

    found = []
    for epoch in range(1, count + 1):
        offers, over = journal.recall(epoch, Offers), journal.recall(epoch, Over)
        posted, paid = journal.recall(epoch, ModelPosted), journal.recall(epoch, PaidOut)
        found.append(
            {
                "epoch": epoch,
                "phase": over.phase if over else None,
                "committed": len(offers.committed) if offers else 0,
                "prices": {n: p for one in journal.all_of(Purchased, epoch) for n, p in one.prices.items()},
                "weights": dict(posted.weights) if posted else {},
                "paid": dict(paid.paid) if paid else {},
                "refunded": paid.refunded if paid else 0,
            }
        )
    return found


def _table(epochs: list[Json], terms: "Terms") -> Table:
    def money(amount: int) -> str:
        return coins(amount, token=terms.money.token)

    rows = [
        (
            *(e["epoch"], e["phase"].lower(), e["committed"], len(e["prices"]), len(e["weights"])),
            *(money(sum(e["paid"].values())), money(e["refunded"])),
        )
        for e in epochs
    ]
    return table("Epochs", ("epoch", "end", "committed", "bought", "in model", "to providers", "back"), rows)
