"""Results as JSON: one object a line, settings as far as they differ from the defaults, which stand in a line before.

A setting that did not exist when a line was written has its present default, which must mean that nothing changes; a
default that has changed since does not reach old lines.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from martfl.lab.config import KEYS, RunConfig
from martfl.lab.provenance import Provenance
from martfl.lab.result import MEASURES, RunResult
from martfl.values import Json, Settings

DIGITS = 6
DEFAULTS = "defaults"
MADE = tuple(f.name for f in dataclasses.fields(Provenance))


def to_json(result: RunResult) -> Json:
    """Everything but the rounds, for whoever reads it: settings in full, null where nothing was measured."""
    config = dataclasses.asdict(result.config)
    head = {"id": result.id, "name": result.name, "status": result.status, "seed": result.config.seed}
    made = {**dataclasses.asdict(result.made), "old": result.old}
    return {**head, **result.measures(), **made, "error": result.error, "config": config}


def append_line(path: Path, result: RunResult) -> None:
    """Add a result; a line that was cut off stays behind by itself."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    head = _defaults_line()
    heads = [line for line in text.splitlines() if line.startswith(f'{{"{DEFAULTS}"')]
    lines = [*([] if heads and heads[-1] == head else [head]), _line(result)]
    with path.open("a", encoding="utf-8") as file:
        file.write(("\n" if text and not text.endswith("\n") else "") + "\n".join(lines) + "\n")


def to_lines(results: Iterable[RunResult]) -> str:
    """A whole file."""
    return "\n".join([_defaults_line(), *map(_line, results)]) + "\n"


def read_lines(path: Path) -> Iterator[RunResult]:
    """All results of a file, oldest first, without their rounds; a line that was cut off is passed over."""
    defaults: Json = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            continue
        if DEFAULTS in found:
            defaults = found[DEFAULTS]
        else:
            yield _result(found, defaults)


def _defaults_line() -> str:
    return json.dumps({DEFAULTS: dataclasses.asdict(RunConfig())})


def _line(result: RunResult) -> str:
    plain, given = dataclasses.asdict(RunConfig()), dataclasses.asdict(result.config)
    config = {key: value for key, value in given.items() if value != plain[key]}
    measures = {key: _rounded(value) for key, value in result.measures().items() if value is not None}
    more = {"error": result.error} if result.error else {}
    head = {"key": result.key, "status": result.status, "config": config}
    return json.dumps({**head, **measures, **dataclasses.asdict(result.made), **more}, separators=(",", ":"))


def _rounded(value: float) -> float:
    return value if isinstance(value, int) else round(value, DIGITS)


def _result(found: Settings, defaults: Settings) -> RunResult:
    settings = {**defaults, **found["config"]}
    gone = [key for key in found["config"] if key not in KEYS]  # a setting that no longer exists had an effect
    made = Provenance(**{key: found.get(key, "") for key in MADE})
    return RunResult(
        config=RunConfig(**{key: value for key, value in settings.items() if key in KEYS}),
        status=found["status"],
        made=dataclasses.replace(made, code="") if gone else made,
        key=found["key"],
        error=found.get("error", ""),
        **{key: found[key] for key in MEASURES if key in found},
    )
