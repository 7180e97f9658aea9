"""Contracts from their Vyper source: compiled at first use, cached under the hash of the sources.

A wheel ships what they compile to (`make wheel`), so that whoever installs it needs no compiler.
"""

import functools
import hashlib
import json
import logging
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from martfl.chain.network import ChainError
from martfl.values import Json

log = logging.getLogger(__name__)

SOURCES = Path(__file__).parent / "contracts"
SHIPPED = SOURCES / "compiled.json"
CONTRACTS = ("exact", "sampled")
MAX_CODE_BYTES = 24_576  # EIP-170; what is compiled here is followed by the immutables, less than a kilobyte


@dataclass(frozen=True)
class Compiled:
    """What deploys a contract and what talks to it."""

    name: str
    abi: tuple[Json, ...]
    bytecode: bytes
    runtime: bytes  # without the immutables that follow it on chain


def cache_folder() -> Path:
    """`MARTFL_CACHE`, or martfl's folder in the user's cache folder."""
    if named := os.environ.get("MARTFL_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "martfl"


@functools.cache
def compiled(name: str, *, sources: Path = SOURCES) -> Compiled:
    """The contract in `<name>.vy`, as shipped, or out of the cache where its sources have not changed."""
    if sources == SOURCES and (shipped := _shipped(name)):
        return _made(name, shipped)
    path = cache_folder() / "contracts" / f"{name}-{_fingerprint(name, sources)[:32]}.json"
    kept = _read(path)
    if kept is None:
        kept = _compile(name, sources)
        try:
            _write(path, kept)
        except OSError as error:
            log.warning("contracts: %s cannot be kept, so they are compiled each time: %s", path.parent, error)
    return _made(name, kept)


def ship(file: Path = SHIPPED) -> None:
    """Write what the contracts compile to, for a wheel; it counts as long as the sources are the same."""
    made = {name: _compile(name, SOURCES) for name in CONTRACTS}
    file.write_text(json.dumps({"sources": _sources(SOURCES), "contracts": made}))


def _shipped(name: str) -> Json | None:
    if not SHIPPED.is_file():
        return None
    kept = json.loads(SHIPPED.read_text())
    found: Json | None = kept["contracts"].get(name) if kept["sources"] == _sources(SOURCES) else None
    return found


def _made(name: str, kept: Json) -> Compiled:
    return Compiled(
        name=name,
        abi=tuple(kept["abi"]),
        bytecode=bytes.fromhex(kept["bytecode"][2:]),
        runtime=bytes.fromhex(kept["runtime"][2:]),
    )


def _fingerprint(name: str, sources: Path) -> str:
    # Modules import each other, so a change in any of them makes all contracts of the folder new.
    import vyper

    return hashlib.sha256(f"{vyper.__version__}\0{name}\0{_sources(sources)}".encode()).hexdigest()


def _sources(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted({*folder.glob("*.vy"), *SOURCES.rglob("*.vy*")}):
        digest.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _compile(name: str, sources: Path) -> Json:
    from vyper.compiler import compile_from_file_input
    from vyper.compiler.input_bundle import FilesystemInputBundle

    if not (sources / f"{name}.vy").is_file():
        raise ChainError(f"no contract of that name: {name!r}")
    bundle = FilesystemInputBundle([SOURCES, sources])
    file = bundle.load_file(sources / f"{name}.vy")
    made = compile_from_file_input(file, input_bundle=bundle, output_formats=["abi", "bytecode", "bytecode_runtime"])
    size = len(made["bytecode_runtime"]) // 2 - 1
    if size > MAX_CODE_BYTES:
        raise ChainError(f"a contract has at most {MAX_CODE_BYTES} bytes of code, {name} has {size}")
    return {"abi": made["abi"], "bytecode": made["bytecode"], "runtime": made["bytecode_runtime"]}


def _read(path: Path) -> Json | None:
    try:
        kept: Json = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    body = {key: kept.get(key) for key in ("abi", "bytecode", "runtime")}
    return body if kept.get("sha256") == _digest(body) else None


def _write(path: Path, body: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "w") as file:
        json.dump({**body, "sha256": _digest(body)}, file)
    Path(name).replace(path)


def _digest(body: Json) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
