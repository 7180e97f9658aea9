"""Results as JSON: one object a line, settings as far as they differ from the defaults, which stand in a line before.

A setting that did not exist when a line was written has its present default, which must mean that nothing changes; a
default that has changed since does not reach old lines.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator

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


def to_lines(results: Iterable[RunResult], *, after: str = "") -> str:
    """Lines to add after a text, or a whole text; the defaults come first, unless they are the last ones there."""
    head = json.dumps({DEFAULTS: dataclasses.asdict(RunConfig())})
    heads = [line for line in after.splitlines() if line.startswith(f'{{"{DEFAULTS}"')]
    return "\n".join([*([] if heads[-1:] == [head] else [head]), *map(_line, results), ""])


def read_lines(text: str) -> Iterator[RunResult]:
    """All results of a text, oldest first, without their rounds; a line that was cut off is passed over."""
    defaults: Json = {}
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            continue
        if DEFAULTS in found:
            defaults = found[DEFAULTS]
        else:
            yield _result(found, defaults)


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
