"""`martfl doctor`: look at this machine, the chain and the other side before money is at stake."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from martfl.cli.options import Config
from martfl.cli.output import JsonFlag, emit

if TYPE_CHECKING:  # rooms are imported by the commands that use them
    from martfl.doctor import Finding

SIGNS = {"ok": "[green]ok  [/]", "warn": "[yellow]note[/]", "fail": "[red]FAIL[/]"}


def doctor(
    market: Annotated[Path | None, typer.Argument(help="Terms or an invitation.", exists=True, dir_okay=False)] = None,
    chain: Annotated[
        str | None, typer.Option("--chain", help="A chain of the TOML file (default: the terms').")
    ] = None,
    config: Config = None,
    keystore: Annotated[str | None, typer.Option("--keystore", help="A wallet's name or address.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="A port that the SuperLink shall listen on.")] = None,
    tls: Annotated[Path | None, typer.Option("--tls", help="Folder that `acquirer certificate` wrote.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check Python, libraries, disk, chain, clock, money, ports, TLS and the buyer. Exit code 1 if any fails."""
    found = [*_machine(), *_place(market, chain, config, keystore), *_listening(port, tls)]
    emit([asdict(one) for one in found], as_json=as_json, render=lambda: _lines(found))
    raise typer.Exit(1 if any(one.verdict == "fail" for one in found) else 0)


def _lines(found: "list[Finding]") -> list[str]:
    width = max(len(one.what) for one in found)
    lines = []
    for one in found:
        lines.append(f"{SIGNS[one.verdict]} {one.what:<{width}}  {escape(one.found)}")
        lines += [f"     → {escape(one.remedy)}"] if one.verdict != "ok" else []
    failed = sum(one.verdict == "fail" for one in found)
    return [*lines, f"{len(found)} looked at, {failed} failed"]


def _machine() -> "Iterator[Finding]":
    from martfl.chain.accounts import default_folder
    from martfl.chain.compile import cache_folder
    from martfl.doctor.machine import machine

    yield from machine(folder=default_folder().parent, cache=cache_folder())


def _place(market: Path | None, name: str | None, config: Path | None, keystore: str | None) -> "Iterator[Finding]":
    from martfl.doctor import network
    from martfl.doctor.chains import chain
    from martfl.federation.invitation import read_invitation
    from martfl.market.terms import load_terms

    terms = load_terms(market) if market else None
    chosen = name or (terms.chain.profile if terms else None)
    if chosen:
        yield from chain(chosen, config=config, terms=terms, address=_address(keystore))
    invitation = read_invitation(market) if market else None
    if invitation:
        yield network.reach(invitation)


def _listening(port: int | None, tls: Path | None) -> "Iterator[Finding]":
    from martfl.doctor import network

    if port is not None:
        yield network.port("", port)
    if tls is not None:
        yield from network.certificates(tls)


def _address(keystore: str | None) -> str | None:
    """A wallet's address; no password is needed to look at what it holds."""
    from eth_utils.address import is_address, to_checksum_address

    from martfl.chain.accounts import default_folder, find_wallet

    if keystore is None or is_address(keystore):
        return to_checksum_address(keystore) if keystore else None
    path = Path(keystore)
    folder = path.parent if path.is_file() else default_folder()
    return find_wallet(folder=folder, name=path.name.removesuffix(".json")).address
