"""Wallets: Ethereum keystore files, encrypted with a password that never travels as an argument.

A wallet is one JSON file (Web3 Secret Storage, as geth writes it) in a folder. Nothing here logs, prints or puts into
an error a key or a password.
"""

import getpass
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_utils.address import is_address, to_checksum_address

from martfl.errors import InputError, MartflError

FOLDER_VARIABLE = "MARTFL_WALLETS"
PASSWORD_VARIABLE = "MARTFL_PASSWORD"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
SHORTEST_PASSWORD = 8


class WalletError(MartflError):
    """A wallet cannot be made, found or opened."""


@dataclass(frozen=True)
class StoredWallet:
    """A keystore file, still locked."""

    name: str
    address: str
    path: Path


def default_folder() -> Path:
    """Where wallets lie unless told otherwise: `MARTFL_WALLETS`, or a folder in the user's home.

    Examples:
        >>> os.environ['MARTFL_WALLETS'] = 'wallets'
        >>> default_folder()
        PosixPath('wallets')
    """
    return Path(os.environ.get(FOLDER_VARIABLE) or Path.home() / ".martfl" / "wallets")


def new_wallet(*, folder: Path, name: str, password: str, work: int | None = None) -> StoredWallet:
    """Draw a key and write it down, encrypted; `work` is scrypt's cost (None: eth-account's default).

    Examples:
        >>> wallet = new_wallet(folder=Path('wallets'), name='seller', password='correct horse', work=2)
        >>> wallet.name, wallet.path.name, wallet.path.stat().st_mode & 0o777 == 0o600
        ('seller', 'seller.json', True)
    """
    if not NAME.fullmatch(name):
        raise InputError(f"a wallet's name must match {NAME.pattern}, got {name!r}")
    if len(password) < SHORTEST_PASSWORD:
        raise InputError(f"a password must have at least {SHORTEST_PASSWORD} characters, got {len(password)}")
    account: LocalAccount = Account.create()
    keystore = Account.encrypt(account.key, password, kdf="scrypt", iterations=work)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    wallet = StoredWallet(name=name, address=account.address, path=folder / f"{name}.json")
    _write_private(wallet.path, json.dumps(keystore, indent=2) + "\n")
    return wallet


def list_wallets(folder: Path) -> list[StoredWallet]:
    """The wallets of a folder by name; files that are no keystores are passed over.

    Examples:
        >>> folder = Path('wallets')
        >>> made = [new_wallet(folder=folder, name=name, password='correct horse', work=2) for name in 'ba']
        >>> [wallet.name for wallet in list_wallets(folder)]
        ['a', 'b']
    """
    if not folder.is_dir():
        return []
    found = (_read(path) for path in sorted(folder.iterdir()) if path.is_file())
    return [wallet for wallet in found if wallet is not None]


def find_wallet(*, folder: Path, name: str) -> StoredWallet:
    """The wallet with this name or address.

    Examples:
        >>> made = new_wallet(folder=Path('wallets'), name='seller', password='correct horse', work=2)
        >>> find_wallet(folder=Path('wallets'), name=made.address) == made
        True
    """
    for wallet in list_wallets(folder):
        if name == wallet.name or name.lower() == wallet.address.lower():
            return wallet
    raise WalletError(f"no wallet {name!r} in {folder}")


def unlock(wallet: StoredWallet, *, password: str) -> LocalAccount:
    """The account inside a wallet.

    Examples:
        >>> wallet = new_wallet(folder=Path('wallets'), name='seller', password='correct horse', work=2)
        >>> unlock(wallet, password='correct horse').address == wallet.address
        True
    """
    try:
        account: LocalAccount = Account.from_key(Account.decrypt(wallet.path.read_text(), password))
    except ValueError:  # its text may quote what was read
        raise WalletError(f"wallet {wallet.name!r} does not open with this password") from None
    if account.address != wallet.address:
        raise WalletError(f"wallet {wallet.name!r} says {wallet.address} and holds the key of {account.address}")
    return account


def read_password(*, file: Path | None = None, variable: str | None = None, confirm: bool = False) -> str:
    """A password from a file, else from an environment variable, else from a prompt (asked twice with `confirm`).

    Examples:
        >>> _ = Path('password').write_text('correct horse')
        >>> read_password(file=Path('password'))
        'correct horse'
    """
    if file is not None:
        try:
            return file.read_text().split("\n", 1)[0].rstrip("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise WalletError(f"cannot read a password from {file}: {type(error).__name__}") from None
    value = os.environ.get(variable or PASSWORD_VARIABLE)
    if value is not None:
        return value
    if variable is not None:
        raise WalletError(f"the environment variable {variable} is not set")
    return _prompt(confirm=confirm)


def _prompt(*, confirm: bool) -> str:
    if not sys.stdin.isatty():
        raise WalletError(f"no terminal to ask for a password: set {PASSWORD_VARIABLE} or name a file")
    password = getpass.getpass("Password: ")
    if confirm and getpass.getpass("Again: ") != password:
        raise WalletError("the two passwords differ")
    return password


def _read(path: Path) -> StoredWallet | None:
    try:
        content = json.loads(path.read_text())
        address = "0x" + content["address"].removeprefix("0x")
        content["crypto"]["ciphertext"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if not is_address(address):
        return None
    return StoredWallet(name=path.name.removesuffix(".json"), address=to_checksum_address(address), path=path)


def _write_private(path: Path, text: str) -> None:
    """Readable by its owner only, never over an existing file, on disk when it returns."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise WalletError(f"{path} exists already") from None
    with os.fdopen(number, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
