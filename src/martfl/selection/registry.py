"""Strategies by name."""

from collections.abc import Callable
from typing import Any

from martfl.errors import InputError
from martfl.selection.evidence import Evidence
from martfl.selection.strategy import Paper, Strategy

STRATEGIES: dict[str, Callable[..., Strategy]] = {"evidence": Evidence, "martfl": Paper}

MOST_BASELINES = {"evidence": Evidence.most_baselines, "martfl": Paper.most_baselines}


def make_strategy(name: str, **options: Any) -> Strategy:
    """The strategy of this name with these parameters."""
    if name not in STRATEGIES:
        raise InputError(f"unknown selection rule {name!r}; known: {', '.join(STRATEGIES)}")
    try:
        return STRATEGIES[name](**options)
    except TypeError as error:
        raise InputError(f"selection rule {name!r} does not take these parameters: {error}") from error
