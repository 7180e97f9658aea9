"""`martfl dashboard`: a market, live in the browser. `martfl report`: the same in one file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from martfl.cli.output import JsonFlag, emit_files
from martfl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from martfl.dashboard.ledger import LedgerReader


def dashboard(
    journal: Annotated[Path, typer.Option(help="The acquirer's journal folder, or a demo's folder.")],
    chain: Annotated[str | None, typer.Option(help="A chain profile, to show everybody's transactions.")] = None,
    config: Annotated[Path | None, typer.Option(help="The file with chain profiles.")] = None,
    contract: Annotated[str | None, typer.Option(help="The market's contract, if the journal does not say.")] = None,
    host: Annotated[str, typer.Option(help="Where to listen; others than this machine need a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where to listen.")] = 8050,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token; or set MARTFL_DASHBOARD_TOKEN.")
    ] = None,
) -> None:
    """Show a market live in the browser. Reads only; run it beside the acquirer."""
    import uvicorn

    from martfl.dashboard.guard import TOKEN_VARIABLE, is_local, read_token
    from martfl.dashboard.server import make_app
    from martfl.dashboard.watch import Watcher

    token = read_token(token_file)
    if not is_local(host) and token is None:
        raise InputError(f"to listen on {host} a token is needed: --token-file or {TOKEN_VARIABLE}")
    if not journal.is_dir():
        raise InputError(f"--journal names a folder, got {journal}")
    opening = _chain_opener(journal, chain, config, contract) if chain else None
    app = make_app(Watcher(journal, opening), token=token, local=is_local(host) and token is None)
    typer.echo(f"http://{f'[{host}]' if ':' in host else host}:{port}/  (Ctrl+C stops)")
    uvicorn.run(
        app, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=1, ws="none"
    )


def _chain_opener(journal: Path, chain: str, config: Path | None, contract: str | None) -> "Callable[[], LedgerReader]":
    """How to read the chain, once the journal names the contract; a profile that is wrong is refused at once."""
    from martfl.chain.open import open_trading
    from martfl.dashboard.ledger import LedgerReader, open_for_reading
    from martfl.dashboard.reading import read_story

    opened = open_for_reading(chain, config=config)

    def make() -> LedgerReader:
        known = read_story(journal)
        address = contract or known.contract
        if not address:
            raise InputError("the journal does not name the market's contract yet: give it with --contract")
        opened.check()
        return LedgerReader(open_trading(opened, address, since=known.since))

    return make


def report(
    folder: Annotated[Path, typer.Argument(help="A demo, an acquirer's journal, or a lab's results.")],
    out: Annotated[Path | None, typer.Option(help="The file to write; report.html in the folder by default.")] = None,
    provider: Annotated[str | None, typer.Option(help="Only what concerns this provider, to hand to it.")] = None,
    experiment: Annotated[Path | None, typer.Option(help="A lab's experiment file, for its table and figure.")] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="Also write TensorBoard events into this folder.")] = None,
    json: JsonFlag = False,
) -> None:
    """Write what happened into one HTML file that opens from disk."""
    from martfl.dashboard.report import write_report
    from martfl.lab.folders import holds_results

    target = out or folder / "report.html"
    if holds_results(folder):
        from martfl.dashboard.lab_report import write_lab_report

        written = {"report": str(write_lab_report(folder, target, experiment=experiment))}
    else:
        written = {"report": str(write_report(folder, target, provider=provider))}
    if tensorboard is not None:
        from martfl.dashboard.tracking import track

        written["tensorboard"] = str(track(folder, tensorboard))
    emit_files(written, as_json=json)
