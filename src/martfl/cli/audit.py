"""`martfl audit`: anyone checks, from chain and model file alone, that epochs were settled as the rules say."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from martfl.cli.options import Config
from martfl.cli.output import JsonFlag, emit
from martfl.tables import table

if TYPE_CHECKING:  # rooms are imported by the commands that use them
    from martfl.chain.network import Chain
    from martfl.chain.trading import Trading
    from martfl.market.auditor import Check
    from martfl.market.terms import Terms


def audit(
    chain: Annotated[str, typer.Option(help="A chain profile, a node's URL, or an embedded chain's file.")],
    contract: Annotated[str, typer.Option(help="The market's contract.")],
    model: Annotated[list[Path], typer.Option(help="A published model file; may be given for several epochs.")],
    epoch: Annotated[int | None, typer.Option(help="This epoch only.")] = None,
    terms: Annotated[Path | None, typer.Option(help="The market's terms, if its numbers are its own.")] = None,
    config: Config = None,
    json: JsonFlag = False,
) -> None:
    """Check purchases, deliveries, the aggregate, the model file, deadlines and money. Exit code 1 if any fails."""
    from martfl.chain.open import open_trading

    with _open_chain(chain, config) as opened:
        checks = _run(open_trading(opened, contract), {file: file.read_bytes() for file in model}, epoch, terms)
    good = all(check.ok for check in checks)
    result = {"ok": good, "checks": [asdict(check) for check in checks]}
    emit(result, as_json=json, render=lambda: [_table(checks)])
    raise typer.Exit(0 if good else 1)


def _table(checks: "list[Check]") -> Table:
    rows = [
        (check.epoch or "all", check.name, "ok" if check.ok else "FAILED", escape(check.detail)) for check in checks
    ]
    title = f"{len(checks)} checks, {sum(not check.ok for check in checks)} failed"
    grid = table(title, ["epoch", "check", "", "what was found"], rows)
    for column in grid.columns:  # words, not numbers
        column.justify, column.overflow = "left", "fold"
    return grid


def _run(trading: "Trading", files: dict[Path, bytes], epoch: int | None, terms: Path | None) -> "list[Check]":
    from martfl.errors import InputError
    from martfl.market.auditor import Check
    from martfl.market.auditor import audit as run_audit
    from martfl.market.settling import make_settler
    from martfl.market.terms import load_terms
    from martfl.settlement.integer_file import peek

    headers = {file: peek(data) for file, data in files.items()}
    if len({(header.parameters, header.scale) for header in headers.values()}) != 1:
        raise InputError("the model files are of different markets: parameters and scales must agree")
    first = next(iter(headers.values()))
    agreed = load_terms(terms) if terms else _default_terms(trading.scheme, first.scale)
    settler = make_settler(agreed, parameters=first.parameters)
    checks = run_audit(trading, settler, {header.epoch: files[file] for file, header in headers.items()}, epoch)
    if terms is None:
        return checks
    same = trading.terms().terms_hash == agreed.hash
    return [Check(0, "terms", same, f"{terms} has the hash {agreed.hash.hex()}"), *checks]


def _default_terms(scheme: str, scale: float) -> "Terms":
    from martfl.market.terms import read_terms

    settlement = {"scheme": scheme, "scale": scale}
    return read_terms({"name": "audit", "task": {"entry": "not:needed"}, "settlement": settlement})


def _open_chain(name: str, config: Path | None) -> "Chain":
    from martfl.chain.embedded import open_file
    from martfl.chain.profiles import open_chain
    from martfl.chain.rpc import RpcChain

    if name.startswith(("http://", "https://")):
        chain = RpcChain(name, chain_id=0)
        chain.chain_id = int(chain.web3.eth.chain_id)  # nothing is sent, so any chain will do
        return chain
    return open_file(Path(name)) if Path(name).is_file() else open_chain(name, config=config)
