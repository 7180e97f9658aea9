"""Named chains in a TOML file.

[chains.local]                  # no `rpc`: the embedded chain
path = "chain.db"               # relative to this file; without it the chain lives in memory

[chains.sepolia]
rpc = "env:RPC_URL"             # the URL comes from the environment, so that its API key is not in a file
confirmations = 3
block_time = 12                 # seconds between blocks
"""

import os
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path

from martfl.amounts import GWEI
from martfl.chain.network import Chain
from martfl.errors import InputError
from martfl.values import Json

CONFIG_VARIABLE = "MARTFL_CONFIG"
CONFIG_NAME = "martfl.toml"
KNOWN_CHAINS = {"mainnet": 1, "sepolia": 11155111, "holesky": 17000, "hoodi": 560048}


@dataclass(frozen=True)
class EmbeddedProfile:
    """The chain inside the program.

    Examples:
        >>> with EmbeddedProfile('local', accounts=2).open() as chain:
        ...     chain.chain_id, len(chain.accounts)
        (1337, 2)
    """

    name: str
    path: Path | None = None
    accounts: int = 10

    def open(self) -> Chain:
        from martfl.chain.embedded import EmbeddedChain

        return EmbeddedChain(self.path, accounts=self.accounts)


@dataclass(frozen=True)
class RpcProfile:
    """A node behind a URL; the URL is not shown.

    depth = (confirmations − 1) · block time, in seconds

    Examples:
        >>> profile = RpcProfile('sepolia', 'https://node.example/secret', 11155111, confirmations=3)
        >>> profile.depth
        24
        >>> 'secret' in repr(profile)
        False
    """

    name: str
    rpc: str = field(repr=False)
    chain_id: int
    confirmations: int = 1
    block_time: float = 12
    fee_cap_gwei: float = 200
    store: Path | None = None
    timeout: float = 600

    @property
    def depth(self) -> float:
        """Seconds from the block that a transaction is in to the one in which it counts."""
        return (self.confirmations - 1) * self.block_time

    def open(self) -> Chain:
        from martfl.chain.rpc import RpcChain

        return RpcChain(
            resolve(self.rpc),
            chain_id=self.chain_id,
            confirmations=self.confirmations,
            fee_cap=round(self.fee_cap_gwei * GWEI),
            store=self.store,
            timeout=self.timeout,
        )


Profile = EmbeddedProfile | RpcProfile
KINDS: dict[type, tuple[type, ...]] = {int: (int,), float: (int, float), str: (str,), Path: (str,)}
TYPES: dict[str, type] = {
    "path": Path,
    "accounts": int,
    "rpc": str,
    "chain_id": int,
    "confirmations": int,
    "block_time": float,
    "fee_cap_gwei": float,
    "store": Path,
    "timeout": float,
}


def load_profiles(path: Path | None = None) -> dict[str, Profile]:
    """The chains of a TOML file (given, or in `MARTFL_CONFIG`, or `martfl.toml` here), and `local` in any case.

    Examples:
        >>> file = Path('martfl.toml')
        >>> _ = file.write_text('chains.sepolia.rpc = "env:RPC_URL"')
        >>> profiles = load_profiles(file)
        >>> list(profiles), profiles['sepolia'].chain_id
        (['local', 'sepolia'], 11155111)
    """
    path = path or _default_path()
    profiles: dict[str, Profile] = {"local": EmbeddedProfile("local")}
    if path is None:
        return profiles
    try:
        chains = tomllib.loads(path.read_text()).get("chains", {})
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"cannot read chains from {path}: {error}") from error
    if not isinstance(chains, dict) or not all(isinstance(entry, dict) for entry in chains.values()):
        raise InputError(f"{path}: chains are written as [chains.name] tables")
    return profiles | {name: _profile(name, entry, path) for name, entry in chains.items()}


def open_chain(name: str, *, config: Path | None = None) -> Chain:
    """Open the chain with this name.

    Examples:
        >>> with open_chain('local') as chain:
        ...     chain.chain_id
        1337
    """
    profiles = load_profiles(config)
    if name not in profiles:
        raise InputError(f"a chain must be one of {', '.join(profiles)}, got {name!r}")
    return profiles[name].open()


def chain_id_of(name: str, *, config: Path | None = None) -> int:
    """The id of a named chain that several machines can reach.

    Examples:
        >>> file = Path('martfl.toml')
        >>> _ = file.write_text('chains.sepolia.rpc = "env:RPC_URL"')
        >>> chain_id_of('sepolia', config=file)
        11155111
    """
    profile = load_profiles(config).get(name)
    if not isinstance(profile, RpcProfile):
        raise InputError(f"a chain that others reach has an `rpc` in martfl.toml ([chains.{name}]); {name!r} has none")
    return profile.chain_id


def resolve(text: str) -> str:
    """`env:NAME` stands for the environment variable NAME; anything else for itself.

    Examples:
        >>> resolve('http://node:8545')
        'http://node:8545'
    """
    if not text.startswith("env:"):
        return text
    variable = text.removeprefix("env:")
    value = os.environ.get(variable)
    if not value:
        raise InputError(f"the environment variable {variable} must hold the node's URL, and is not set")
    return value


def _default_path() -> Path | None:
    if named := os.environ.get(CONFIG_VARIABLE):
        return Path(named)
    here = Path(CONFIG_NAME)
    return here if here.is_file() else None


def _profile(name: str, entry: Json, file: Path) -> Profile:
    kind = RpcProfile if "rpc" in entry else EmbeddedProfile
    allowed = [item.name for item in fields(kind) if item.name != "name"]
    values: Json = {key: _value(name, key, value, allowed, file) for key, value in entry.items()}
    if kind is EmbeddedProfile:
        return EmbeddedProfile(name, **values)
    if "chain_id" not in values:
        if name not in KNOWN_CHAINS:
            raise InputError(f"[chains.{name}] must state its chain_id")
        values["chain_id"] = KNOWN_CHAINS[name]
    return RpcProfile(name, **values)


def _value(name: str, key: str, value: object, allowed: list[str], file: Path) -> object:
    """A value of the right type; the value itself is not quoted, since it may be a URL with a key in it."""
    if key not in allowed:
        raise InputError(f"[chains.{name}] takes {', '.join(allowed)}, got {key!r}")
    wanted = TYPES[key]
    if isinstance(value, bool) or not isinstance(value, KINDS[wanted]):
        raise InputError(f"[chains.{name}] {key} must be a {KINDS[wanted][-1].__name__}, got {type(value).__name__}")
    return file.parent / str(value) if wanted is Path else value
