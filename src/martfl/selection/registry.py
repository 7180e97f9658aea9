"""Strategies by name."""

from typing import Any

from martfl.errors import InputError
from martfl.selection.evidence import Evidence
from martfl.selection.paper import Paper
from martfl.selection.strategy import Strategy

STRATEGIES: dict[str, type[Evidence] | type[Paper]] = {"evidence": Evidence, "martfl": Paper}


def make_strategy(name: str, **options: Any) -> Strategy:
    """The strategy of this name with these parameters.

    Examples:
        >>> type(make_strategy('martfl', threshold=0.1)).__name__
        'Paper'
    """
    if name not in STRATEGIES:
        raise InputError(f"unknown selection rule {name!r}; known: {', '.join(STRATEGIES)}")
    try:
        return STRATEGIES[name](**options)
    except TypeError as error:
        raise InputError(f"selection rule {name!r} does not take these parameters: {error}") from error
