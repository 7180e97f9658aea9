"""Rules by name, with errors that list what is valid."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from martfl.errors import InputError
from martfl.lab.rules.base import Rule
from martfl.lab.rules.fedavg import fedavg

RULES: dict[str, Callable[..., Rule]] = {
    "fedavg": fedavg,
}


def make_rule(name: str, **params: Any) -> Rule:
    """The rule of that name; a parameter it does not have is refused with the list of those it has."""
    if name not in RULES:
        raise InputError(f"unknown rule {name!r}: choose one of {', '.join(sorted(RULES))}")
    known = sorted(inspect.signature(RULES[name]).parameters)
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise InputError(f"rule {name!r} has no parameter {', '.join(unknown)}: it takes {', '.join(known) or 'none'}")
    return RULES[name](**params)
