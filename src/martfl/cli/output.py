"""How commands print results: one JSON document for scripts, rich tables for people."""

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated

import typer
from rich.console import Console, RenderableType

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]

console = Console()


def to_plain(value: object) -> object:
    """Turn dataclasses, numpy values and bytes into what `json` can write."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if hasattr(value, "tolist"):  # arrays and numbers of numpy, without importing it for `--help`
        return value.tolist()
    if isinstance(value, (bytes, bytearray)):
        return "0x" + bytes(value).hex()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def _finite(value: object) -> object:
    """What JSON can say: it has no word for NaN and infinity, so that they become null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def emit(result: object, *, as_json: bool, render: Callable[[], Iterable[RenderableType]]) -> None:
    """Print `result` as JSON, or what `render` gives as rich renderables."""
    if as_json:
        plain = json.loads(json.dumps(result, default=to_plain))
        json.dump(_finite(plain), sys.stdout, indent=2, allow_nan=False)
        sys.stdout.write("\n")
        return
    for part in render():
        console.print(part)


def emit_files(written: Mapping[str, str], *, as_json: bool) -> None:
    """Print where files were written: bare paths, a line each, which no width breaks."""
    if as_json:
        emit(written, as_json=True, render=list)
    else:
        typer.echo("\n".join(written.values()))
