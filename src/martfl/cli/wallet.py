"""`martfl wallet …`: encrypted keystore files for the parties of a market."""

from pathlib import Path
from typing import Annotated

import typer

from martfl.cli.options import Config, PasswordFile, PasswordVariable
from martfl.cli.output import JsonFlag, emit
from martfl.tables import table

app = typer.Typer(no_args_is_help=True, help="Make and list encrypted keystore files.")

Folder = Annotated[
    Path | None, typer.Option("--folder", help="Where wallets lie (default: MARTFL_WALLETS or ~/.martfl/wallets).")
]


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="The wallet's name.")],
    folder: Folder = None,
    password_file: PasswordFile = None,
    password_env: PasswordVariable = None,
    as_json: JsonFlag = False,
) -> None:
    """Draw a key and store it, encrypted. Without file and variable the password is asked for."""
    from martfl.chain import accounts

    password = accounts.read_password(file=password_file, variable=password_env, confirm=True)
    wallet = accounts.new_wallet(folder=folder or accounts.default_folder(), name=name, password=password)
    result = {"name": wallet.name, "address": wallet.address, "path": str(wallet.path)}
    emit(result, as_json=as_json, render=lambda: [f"{wallet.address}  {wallet.path}"])


@app.command("list")
def list_(folder: Folder = None, as_json: JsonFlag = False) -> None:
    """List the wallets of a folder."""
    from martfl.chain import accounts

    place = folder or accounts.default_folder()
    wallets = [{"name": wallet.name, "address": wallet.address} for wallet in accounts.list_wallets(place)]
    emit(
        wallets, as_json=as_json, render=lambda: [table(str(place), ("name", "address"), (w.values() for w in wallets))]
    )


@app.command()
def balance(
    name: Annotated[str, typer.Argument(help="A wallet's name, or any address.")],
    chain: Annotated[str, typer.Option("--chain", help="A chain of the TOML file.")] = "local",
    config: Config = None,
    folder: Folder = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what an account holds on a chain."""
    from eth_utils.address import is_address, to_checksum_address
    from eth_utils.currency import from_wei

    from martfl.chain import accounts, profiles

    if is_address(name):
        address: str = to_checksum_address(name)
    else:
        address = accounts.find_wallet(folder=folder or accounts.default_folder(), name=name).address
    with profiles.open_chain(chain, config=config) as opened:
        opened.check()
        wei = opened.balance(address)
    result = {"address": address, "chain": chain, "wei": wei, "ether": str(from_wei(wei, "ether"))}
    emit(result, as_json=as_json, render=lambda: [f"{address} holds {result['ether']} ether on {chain}"])
