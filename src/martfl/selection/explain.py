"""A decision made visible: a table for the terminal and a figure for reports."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from martfl.errors import InputError
from martfl.palette import ROLE_COLOURS, ROLE_MARKERS, SERIES
from martfl.selection.reasons import Role
from martfl.selection.result import Selection

if TYPE_CHECKING:  # both are optional where only numbers are wanted
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

# Beyond this many providers names on the figure only hide the points.
MOST_LABELS = 40


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


def plot(selection: Selection, *, names: Sequence[str] | None = None) -> "Figure":
    """Scores on a line: clusters as bands, weight as height, kept and dropped marked.

    Examples:
        >>> import numpy as np
        >>> from martfl.selection import select
        >>> plot(select([0.7, 0.71], rng=np.random.default_rng(0))).axes[0].get_ylabel()
        'weight'
    """
    from matplotlib.figure import Figure

    labels = _names(selection, names)
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    axes = figure.subplots()
    _draw_clusters(axes, selection)
    for role in Role:
        chosen = list(selection.having(role))
        if chosen:
            at = selection.scores[chosen], selection.weights[chosen]
            axes.scatter(*at, s=60, color=ROLE_COLOURS[role], marker=ROLE_MARKERS[role], label=role, zorder=3)
    if selection.scores.size <= MOST_LABELS:
        _label(axes, selection, labels)
    axes.set(xlabel="score: cosine with the baseline", ylabel="weight", title=headline(selection))
    axes.margins(y=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if selection.roles:
        figure.legend(loc="outside right upper", frameon=False)
    return figure


def _draw_clusters(axes: "Axes", selection: Selection) -> None:
    if selection.clusters is None:
        return
    for cluster, centroid in enumerate(selection.clusters.centroids):
        members = selection.scores[selection.clusters.labels == cluster]
        axes.axvspan(members.min(), members.max(), color=SERIES[cluster % len(SERIES)], alpha=0.15, lw=4)
        axes.axvline(centroid, color=SERIES[cluster % len(SERIES)], lw=1, ls=":")


def _names(selection: Selection, names: Sequence[str] | None) -> Sequence[str]:
    if names is None:
        return [str(i) for i in range(selection.scores.size)]
    if len(names) != selection.scores.size:
        raise InputError(f"names must be one for each of {selection.scores.size} providers, got {len(names)}")
    return names


def _label(axes: "Axes", selection: Selection, names: Sequence[str]) -> None:
    """Name the points; neighbours on the line take turns in height, so that their names stay legible."""
    known = [i for i in np.argsort(selection.scores, kind="stable") if np.isfinite(selection.scores[i])]
    for rank, i in enumerate(known):
        at = (float(selection.scores[i]), float(selection.weights[i]))
        offset = (0, 7 + 9 * (rank % 3))
        axes.annotate(names[i], at, xytext=offset, textcoords="offset points", ha="center", fontsize=7)
