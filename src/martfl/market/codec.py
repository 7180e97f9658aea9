"""Steps as JSON and back: one codec for all of them, driven by their types. What does not fit is refused."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from martfl.market.errors import JournalError
from martfl.market.steps import KINDS, Step


def to_json(step: Step) -> str:
    """The step's fields as canonical JSON."""
    return json.dumps(_plain(step), sort_keys=True, separators=(",", ":"), allow_nan=False)


def from_json(name: str, text: str) -> Step:
    """The step called `name`; whatever does not fit its type is refused."""
    kind = KINDS.get(name)
    if kind is None:
        raise JournalError(f"a journal of this version has no step {name!r}")
    step: Step = _typed(kind, json.loads(text), name)
    return step


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _typed(kind: Any, value: object, where: str) -> Any:
    """`value`, out of JSON, as `kind` wants it."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _record(kind, value, where)
    if origin in (Union, UnionType):
        if value is None and NoneType in inner:
            return None
        (kind,) = (one for one in inner if one is not NoneType)
        return _typed(kind, value, where)
    if origin is tuple and isinstance(value, list):
        return tuple(_typed(inner[0], item, where) for item in value)
    if origin is not None and issubclass(origin, Mapping) and isinstance(value, dict):
        return {key: _typed(inner[1], item, f"{where}.{key}") for key, item in value.items()}
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is kind:
        return value
    raise JournalError(f"the journal's {where} must be of type {kind}, got {str(value)[:60]!r}")


def _record(kind: Any, value: object, where: str) -> Any:
    types = get_type_hints(kind)
    wanted = {f.name: types[f.name] for f in fields(kind)}
    if not isinstance(value, dict) or set(value) != set(wanted):
        raise JournalError(f"the journal's {where} must have the fields {', '.join(wanted)}")
    return kind(**{name: _typed(wanted[name], item, f"{where}.{name}") for name, item in value.items()})
