"""A decision made visible: a table for the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from martfl.errors import InputError
from martfl.palette import ROLE_COLOURS
from martfl.selection.result import Selection

if TYPE_CHECKING:  # optional where only numbers are wanted
    from rich.table import Table


def explain(selection: Selection, *, names: Sequence[str] | None = None) -> "Table":
    """Every provider with its score, weight and the reason, best score first.

    Examples:
        >>> import numpy as np
        >>> from martfl.selection import select
        >>> table = explain(select([0.7, 0.71], rng=np.random.default_rng(0)), names=['Alder', 'Birch'])
        >>> [str(column.header) for column in table.columns]
        ['provider', 'score', 'weight', 'decision']
    """
    from rich.markup import escape
    from rich.table import Table

    labels = _names(selection, names)
    table = Table(title=headline(selection), title_justify="left")
    for heading in ("provider", "score", "weight"):
        table.add_column(heading, justify="right" if heading != "provider" else "left")
    table.add_column("decision")
    for i in np.argsort(-np.nan_to_num(selection.scores, nan=-2.0), kind="stable"):
        role = selection.roles[i]
        table.add_row(
            escape(labels[i]),
            f"{selection.scores[i]:.3f}" if np.isfinite(selection.scores[i]) else "–",
            f"{selection.weights[i]:.3f}",
            f"[{ROLE_COLOURS[role]}]{role}[/]: {selection.reason(int(i))}",
        )
    return table


def headline(selection: Selection) -> str:
    """The decision in a few words."""
    known = selection.scores[np.isfinite(selection.scores)]
    spread = f", scores from {known.min():.3f} to {known.max():.3f}" if known.size else ""
    if selection.clusters is not None:
        clusters = selection.clusters
        return f"{clusters.distribution}: {clusters.centroids.size} cluster(s){spread}"
    aggregated = int((selection.weights > 0).sum())
    return f"{len(selection.bought)} of {selection.weights.size} bought, {aggregated} aggregated{spread}"


def _names(selection: Selection, names: Sequence[str] | None) -> Sequence[str]:
    if names is None:
        return [str(i) for i in range(selection.scores.size)]
    if len(names) != selection.scores.size:
        raise InputError(f"names must be one for each of {selection.scores.size} providers, got {len(names)}")
    return names
