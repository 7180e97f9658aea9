"""Putting a role together from files: terms, wallet, chain, contract, task, data, journal."""

import json
import re
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from eth_account.signers.local import LocalAccount
from eth_utils.address import is_address

from martfl.chain import accounts
from martfl.chain.network import Chain
from martfl.chain.open import open_trading
from martfl.chain.profiles import RpcProfile, load_profiles
from martfl.chain.trading import Trading
from martfl.errors import InputError
from martfl.market.acquirer import deploy_market
from martfl.market.errors import MarketError, TermsError
from martfl.market.journal import Journal
from martfl.market.meter import ANSWERS, Meter
from martfl.market.provider import Provider
from martfl.market.settling import Settler, make_settler
from martfl.market.task import make_task
from martfl.market.terms import Terms, load_terms
from martfl.tasks.protocol import Data, Task
from martfl.values import Json

MARKETS, METERS = "markets", "meters"  # folders in the user's martfl home


@dataclass(frozen=True)
class PartyView:
    """A market as one party sees it."""

    terms: Terms
    chain: Chain
    trading: Trading
    task: Task
    settler: Settler
    journal: Journal
    account: LocalAccount


def open_wallet(keystore: str, *, password_file: Path | None, password_env: str | None) -> LocalAccount:
    """The account in a keystore file, or in the wallet of that name; the password never comes as an argument.

    Examples:
        >>> wallet = accounts.new_wallet(folder=Path('.'), name='seller', password='correct horse', work=2)
        >>> _ = Path('password').write_text('correct horse')
        >>> account = open_wallet('seller.json', password_file=Path('password'), password_env=None)
        >>> account.address == wallet.address
        True
    """
    path = Path(keystore)
    if path.is_file():
        wallet = accounts.find_wallet(folder=path.parent, name=path.name.removesuffix(".json"))
    else:
        wallet = accounts.find_wallet(folder=accounts.default_folder(), name=keystore)
    return accounts.unlock(wallet, password=accounts.read_password(file=password_file, variable=password_env))


def role_folder(terms: Terms, account: LocalAccount, *, role: str, folder: Path | None) -> Path:
    """Where a party keeps its journal, transactions and Flower's files: as told, or in the user's home.

    Examples:
        >>> from martfl.chain.embedded import local_account
        >>> terms = load_terms(Path('market/market.toml'))
        >>> place = role_folder(terms, local_account(1), role='provider', folder=None)
        >>> place.parts[-3:-1] == ('markets', f'local-{terms.chain.contract.lower()}'), place.name[:11]
        (True, 'provider-0x')
    """
    if folder is not None:
        return folder
    where = terms.chain.contract.lower() or f"undeployed-{terms.hash.hex()[:16]}"
    chain = re.sub(r"[^\w-]", "_", terms.chain.profile)  # contracts on two chains may have one address
    return _home() / MARKETS / f"{chain}-{where}" / f"{role}-{account.address.lower()}"


def meter_file(account: LocalAccount) -> Path:
    """Where a seller counts the scores that it gave: one file for a wallet, whatever the market.

    Examples:
        >>> from martfl.chain.embedded import local_account
        >>> meter_file(local_account(1)).name == f'{local_account(1).address.lower()}.sqlite'
        True
    """
    return _home() / METERS / f"{account.address.lower()}.sqlite"


def _home() -> Path:
    return accounts.default_folder().parent


@contextmanager
def open_role_chain(terms: Terms, *, config: Path | None, folder: Path) -> Iterator[Chain]:
    """The market's chain; what this party sends is remembered in its folder unless the profile says where.

    Examples:
        >>> terms = load_terms(Path('market/market.toml'))
        >>> with open_role_chain(terms, config=None, folder=Path('seller')) as chain:
        ...     chain.chain_id
        Traceback (most recent call last):
            ...
        martfl.errors.InputError: parties on different machines need a chain that all ...
    """
    profiles = load_profiles(config)
    profile = profiles.get(terms.chain.profile)
    if not isinstance(profile, RpcProfile):
        known = ", ".join(name for name, found in profiles.items() if isinstance(found, RpcProfile)) or "none"
        raise InputError(
            "parties on different machines need a chain that all can reach: [chain] profile must name one with an "
            f"`rpc` in martfl.toml (there: {known}), got {terms.chain.profile!r}"
        )
    if profile.depth > terms.deadlines.margin:
        raise InputError(
            f"[chains.{profile.name}] {profile.confirmations} confirmations, a block every {profile.block_time:g} s, "
            f"must not take longer than the market's margin of {terms.deadlines.margin} s, got {profile.depth:g} s"
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with replace(profile, store=profile.store or folder / "transactions.sqlite").open() as chain:
        chain.check()
        yield chain


@contextmanager
def open_place(
    market: Path,
    *,
    account: LocalAccount,
    role: str,
    config: Path | None = None,
    folder: Path | None = None,
    allowed: Collection[str] = (),
) -> Iterator[PartyView]:
    """Everything that a role needs but its data; closed at the end. `allowed` are modules whose tasks may run here.

    Examples:
        >>> from martfl.chain.embedded import local_account
        >>> with open_place(Path('market/market.toml'), account=local_account(1), role='provider') as place:
        ...     place.trading.epoch_count()
        Traceback (most recent call last):
            ...
        martfl.errors.InputError: parties on different machines need a chain that all ...
    """
    terms = load_terms(market)
    contract = terms.chain.contract
    if not is_address(contract):
        raise TermsError(f"{market} must name the market's contract ([chain] contract), got {contract!r}")
    place = role_folder(terms, account, role=role, folder=folder)
    with open_role_chain(terms, config=config, folder=place) as chain, Journal(place / "journal") as journal:
        task = make_task(terms, allowed=allowed)
        settler = make_settler(terms, parameters=task.layout.size)
        trading = open_trading(chain, contract, since=terms.chain.since)
        yield PartyView(terms, chain, trading, task, settler, journal, account)


@contextmanager
def open_provider(
    place: PartyView,
    data: Data,
    *,
    name: str = "",
    ask: int | None = None,
    answers: int = ANSWERS,
    meter: Path | None = None,
) -> Iterator[Provider]:
    """The provider of a place; refuses where the chain's terms are not the file's.

    Examples:
        >>> import numpy as np
        >>> from martfl.chain.embedded import open_file
        >>> terms = load_terms(Path('market/market.toml'))
        >>> task = make_task(terms)
        >>> settler, data = make_settler(terms, parameters=task.layout.size), (np.zeros((5, 64)), np.arange(5))
        >>> with open_file(Path('market/chain.sqlite')) as chain, Journal(Path('seller')) as journal:
        ...     trading = open_trading(chain, terms.chain.contract)
        ...     place = PartyView(terms, chain, trading, task, settler, journal, chain.accounts[1])
        ...     with open_provider(place, data, name='Birch', meter=Path('meter.sqlite')) as seller:
        ...         seller.name, seller.acquirer == chain.accounts[0].address
        ('Birch', True)
    """
    if place.trading.terms().acquirer == place.account.address:
        raise MarketError("the market's acquirer cannot sell to itself: join with another wallet")
    with closing(Meter(meter or meter_file(place.account))) as count:
        parts = (place.terms, place.task, data, place.trading, place.settler, place.journal, count, place.account)
        provider = Provider(*parts, name=name, ask=ask, answers=answers)
        try:
            yield provider
        finally:
            provider.leave()


def deploy(market: Path, *, chain: Chain, account: LocalAccount, allowed: Collection[str] = ()) -> Trading:
    """Put the market's contract on chain, once, and write its address into the file.

    Examples:
        >>> from martfl.chain.embedded import EmbeddedChain
        >>> from martfl.market.terms import read_terms, to_toml
        >>> terms = read_terms({'name': 'digits', 'task': {'entry': 'martfl.lab.task:digits'}})
        >>> file = Path('market.toml')
        >>> _ = file.write_text(to_toml(terms))
        >>> with EmbeddedChain(accounts=1) as chain:
        ...     trading = deploy(file, chain=chain, account=chain.accounts[0])
        >>> load_terms(file).chain.contract == trading.address
        True
    """
    terms = load_terms(market)
    if terms.chain.contract:
        raise InputError(f"{market} names a contract already: {terms.chain.contract}")
    task = make_task(terms, allowed=allowed)
    if not terms.task.layout:
        terms = state_layout(market, task)
    settler = make_settler(terms, parameters=task.layout.size)
    key = f"deploy {terms.hash.hex()}"
    trading = deploy_market(chain, terms=terms, settler=settler, initial=task.initial(), account=account, key=key)
    found: Json = {"contract": trading.address, "since": trading.since}
    write_values(market, {"chain": found})
    return trading


def state_layout(market: Path, task: Task) -> Terms:
    """Write the task's layout into the terms: its hash, which the chain holds them to, and the names behind it.

    Examples:
        >>> from martfl.market.terms import read_terms, to_toml
        >>> terms = read_terms({'name': 'digits', 'task': {'entry': 'martfl.lab.task:digits'}})
        >>> file = Path('market.toml')
        >>> _ = file.write_text(to_toml(terms))
        >>> list(state_layout(file, make_task(terms)).layout)
        ['hidden.weight', 'hidden.bias', 'out.weight', 'out.bias']
    """
    listed = {json.dumps(name): text for name, text in task.layout.to_table().items()}
    write_values(market, {"task": {"layout": task.layout.hash}, "layout": listed})
    return load_terms(market)


def write_values(market: Path, sections: dict[str, Json]) -> None:
    """Set values in a TOML file, whole or not at all: the file names the market's money.

    Examples:
        >>> file = Path('market.toml')
        >>> _ = file.write_text('name = "digits"  # ours')
        >>> write_values(file, {'chain': {'since': 7}})
        >>> file.read_text().splitlines()
        ['name = "digits"  # ours', '', '[chain]', 'since = 7']
    """
    text = market.read_text(encoding="utf-8")
    for section, values in sections.items():
        text = set_values(text, section, values)
    part = market.with_name(f"{market.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(market)


def set_values(text: str, section: str, values: Json) -> str:
    """A TOML text with these values in a section, and everything else, comments too, as it was.

    Examples:
        >>> set_values('name = "digits"  # ours', 'chain', {'profile': 'sepolia', 'since': 7}).splitlines()
        ['name = "digits"  # ours', '', '[chain]', 'profile = "sepolia"', 'since = 7']
    """
    lines = text.splitlines()
    header = f"[{section}]"
    starts = [i for i, line in enumerate(lines) if line.split("#")[0].strip() == header]
    if not starts:
        lines += ["", header]
        starts = [len(lines) - 1]
    end = next((i for i in range(starts[0] + 1, len(lines)) if lines[i].lstrip().startswith("[")), len(lines))
    named = re.compile(rf"\s*({'|'.join(map(re.escape, values))})\s*=")
    kept = [line for line in lines[starts[0] + 1 : end] if not named.match(line)]
    while kept and not kept[-1].strip():
        kept.pop()
    new = [f"{key} = {value}" if isinstance(value, int) else f'{key} = "{value}"' for key, value in values.items()]
    rest = lines[end:]
    return "\n".join([*lines[: starts[0] + 1], *kept, *new, *([""] if rest else []), *rest]) + "\n"
