"""`martfl acquirer …` and `martfl provider …`: the parties of a market on their own machines."""

import logging
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from martfl.cli.output import JsonFlag, emit, table

if TYPE_CHECKING:  # rooms are imported by the commands that use them
    from martfl.federation.compose import Place
    from martfl.market.journal import Journal
    from martfl.market.terms import Terms

acquirer = typer.Typer(no_args_is_help=True, help="Buy: deploy a market's contract, run its epochs.")
provider = typer.Typer(no_args_is_help=True, help="Sell: join a market, claim what it owes.")

Market = Annotated[Path, typer.Argument(help="The market's terms.", exists=True, dir_okay=False)]
Keystore = Annotated[str, typer.Option("--keystore", help="A keystore file, or the name of a wallet.")]
Data = Annotated[str, typer.Option("--data", help="A folder with x.npy and y.npy, or module:function.")]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Journal and other files [default: below ~/.martfl/markets].")
]
Config = Annotated[Path | None, typer.Option("--config", help="TOML file with [chains.…] [default: martfl.toml].")]
PasswordFile = Annotated[
    Path | None, typer.Option("--password-file", help="Read the wallet's password from a file's first line.")
]
PasswordVariable = Annotated[
    str | None, typer.Option("--password-env", help="Read the password from this variable [default: MARTFL_PASSWORD].")
]
Insecure = Annotated[bool, typer.Option("--insecure", help="Without TLS: for one machine, or behind a proxy.")]

progress = Console(stderr=True, highlight=False, soft_wrap=True)


@acquirer.command()
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


@acquirer.command()
def deploy(
    market: Market,
    keystore: Keystore,
    password_file: PasswordFile = None,
    password_env: PasswordVariable = None,
    folder: Folder = None,
    config: Config = None,
    as_json: JsonFlag = False,
) -> None:
    """Put the market's contract on chain, with the hash of its terms, and write the address into the file."""
    from martfl.federation import compose
    from martfl.market.terms import load_terms

    terms = load_terms(market)
    account = compose.open_wallet(keystore, password_file=password_file, password_env=password_env)
    place = compose.role_folder(terms, account, role="acquirer", folder=folder)
    say(f"deploying market {terms.name!r} on {terms.chain.profile}: terms {terms.hash.hex()}")
    with compose.open_role_chain(terms, config=config, folder=place) as chain:
        trading = compose.deploy(market, chain=chain, account=account)
    gas = trading.deployment.gas_used if trading.deployment else 0
    result = {"contract": trading.address, "block": trading.since, "gas": gas, "terms_hash": "0x" + terms.hash.hex()}
    emit(result, as_json=as_json, render=lambda: [f"contract {trading.address}, {gas} gas; written into {market}"])


@acquirer.command("run")
def run_acquirer(
    market: Market,
    keystore: Keystore,
    data: Data,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Trade until so many epochs are over.")] = 1,
    providers: Annotated[int, typer.Option("--providers", min=1, help="Wait for so many before an epoch.")] = 1,
    host: Annotated[str, typer.Option("--host", help="Address that the SuperLink listens on.")] = "0.0.0.0",
    port: Annotated[int, typer.Option("--port", help="Port that the SuperLink listens on.")] = 9092,
    tls: Annotated[Path | None, typer.Option("--tls", help="Folder that `acquirer certificate` wrote.")] = None,
    insecure: Insecure = False,
    wait: Annotated[float | None, typer.Option("--wait", help="Seconds to wait for an answer.")] = None,
    password_file: PasswordFile = None,
    password_env: PasswordVariable = None,
    folder: Folder = None,
    config: Config = None,
    as_json: JsonFlag = False,
) -> None:
    """Run epochs with the providers that join. Killed, it goes on where it was when it is started again."""
    from martfl.errors import InputError
    from martfl.federation import compose
    from martfl.federation.flower.processes import Certificates
    from martfl.federation.flower.roles import Buying, Listening
    from martfl.market.task import load_data

    if (tls is None) != insecure:
        raise InputError("say either --tls FOLDER, with the files of `martfl acquirer certificate`, or --insecure")
    files = None if tls is None else Certificates(tls / "authority.pem", tls / "superlink.pem", tls / "superlink.key")
    account = compose.open_wallet(keystore, password_file=password_file, password_env=password_env)
    with (
        _ended_by_signals(),
        compose.open_place(market, account=account, role="acquirer", config=config, folder=folder) as place,
    ):
        _introduce(place.terms, place.trading.address, account.address)
        buying = Buying(
            place=place,
            root=load_data(data),
            folder=compose.role_folder(place.terms, account, role="acquirer", folder=folder),
            listening=Listening(host, port, files),
            epochs=epochs,
            providers=providers,
            seconds=wait or _patience(place.terms),
            say=say,
        )
        buying.run()
        done = _epochs(place.journal, epochs)
        say(f"report: {_write_report(place)}")
    result = {"contract": place.terms.chain.contract, "epochs": done}
    emit(result, as_json=as_json, render=lambda: [_table(done)])


@provider.command()
def join(
    market: Market,
    keystore: Keystore,
    data: Data,
    superlink: Annotated[str, typer.Option("--superlink", help="The acquirer's SuperLink, host:port.")],
    authority: Annotated[
        Path | None, typer.Option("--authority", help="authority.pem from the acquirer [default: the system's].")
    ] = None,
    insecure: Insecure = False,
    name: Annotated[str, typer.Option("--name", help="What the acquirer may call you.")] = "",
    epochs: Annotated[int | None, typer.Option("--epochs", help="Leave when so many epochs are claimed.")] = None,
    password_file: PasswordFile = None,
    password_env: PasswordVariable = None,
    folder: Folder = None,
    config: Config = None,
) -> None:
    """Train when asked, commit, score, deliver what is bought, check the model, claim. Stop it with Ctrl-C."""
    from martfl.federation import compose
    from martfl.federation.flower.roles import Connecting, Selling, make_provider
    from martfl.market.task import load_data

    account = compose.open_wallet(keystore, password_file=password_file, password_env=password_env)
    with (
        _ended_by_signals(),
        compose.open_place(market, account=account, role="provider", config=config, folder=folder) as place,
    ):
        _introduce(place.terms, place.trading.address, account.address)
        selling = Selling(
            provider=make_provider(place, load_data(data), name=name),
            folder=compose.role_folder(place.terms, account, role="provider", folder=folder),
            connecting=Connecting(superlink, authority, insecure),
            epochs=epochs,
            say=say,
        )
        selling.run()


@provider.command()
def claim(
    market: Market,
    keystore: Keystore,
    password_file: PasswordFile = None,
    password_env: PasswordVariable = None,
    folder: Folder = None,
    config: Config = None,
    as_json: JsonFlag = False,
) -> None:
    """Claim what finished epochs owe, without joining; epochs that the acquirer let lapse are expired first."""
    from martfl.federation import compose
    from martfl.federation.flower.roles import make_provider

    account = compose.open_wallet(keystore, password_file=password_file, password_env=password_env)
    with compose.open_place(market, account=account, role="provider", config=config, folder=folder) as place:
        claimed = make_provider(place, None, name="").watch()
    rows = [{"epoch": epoch, "wei": amount} for epoch, amount in claimed.items()]
    emit(rows, as_json=as_json, render=lambda: [table("claimed now", ("epoch", "wei"), (r.values() for r in rows))])


def say(text: str) -> None:
    """One line of progress, on stderr, so that results can be piped."""
    progress.print(f"[dim]{time.strftime('%H:%M:%S')}[/dim] {escape(text)}")


def _introduce(terms: "Terms", contract: str, wallet: str) -> None:
    money, deadlines = terms.money, terms.deadlines
    say(f"market {terms.name!r}, contract {contract}, terms {terms.hash.hex()[:16]}… as on chain; wallet {wallet}")
    say(
        f"task {terms.task.entry}; {terms.settlement.scheme} settlement; reward {money.reward} wei an epoch, penalty "
        f"{money.penalty_ratio / 100:g} %, advance fee {money.advance_fee} wei; commit within {deadlines.commit} s"
    )


def _patience(terms: "Terms") -> float:
    # Weighing takes several questions within one deadline, and nobody who is silent may cost the acquirer its deposit.
    return max(5.0, min(terms.deadlines.prepare, terms.deadlines.publish) / 8)


def _write_report(place: "Place") -> Path:
    """What happened, in one HTML file beside the journal; everybody's transactions included."""
    from martfl.dashboard.ledger import LedgerReader
    from martfl.dashboard.report import write_report

    folder = place.journal.folder
    return write_report(folder, folder / "report.html", ledger=LedgerReader(place.trading).read())


def _epochs(journal: "Journal", count: int) -> list[dict[str, Any]]:
    found = []
    for epoch in range(1, count + 1):
        steps = {step.name: step.value for step in journal.steps(epoch)}
        over, weights = steps.get("over", {}), steps.get("prepare", {}).get("weights", {})
        phase, back = over.get("phase"), int(over.get("refunded", 0))
        committed = len(steps.get("invite", {}).get("committed", []))
        found.append({"epoch": epoch, "phase": phase, "committed": committed, "weights": weights, "refunded": back})
    return found


def _table(epochs: list[dict[str, Any]]) -> Any:
    rows = [(e["epoch"], e["phase"], e["committed"], len(e["weights"]), e["refunded"]) for e in epochs]
    return table("epochs", ("epoch", "end", "committed", "bought", "back to the acquirer (wei)"), rows)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A service manager's SIGTERM ends the program like Ctrl-C: children are stopped, files closed."""
    logging.getLogger("flwr").setLevel(logging.WARNING)

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
