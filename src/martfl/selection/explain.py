"""A decision made visible: a table for the terminal and a figure for reports."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from martfl.errors import InputError
from martfl.palette import ROLE_COLOURS, ROLE_MARKERS, SERIES
from martfl.selection.result import Role, Selection

if TYPE_CHECKING:  # both are optional where only numbers are wanted
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

# Beyond this many providers names on the figure only hide the points.
MOST_LABELS = 40


def explain(selection: Selection, *, names: Sequence[str] | None = None) -> "Table":
    """Every provider with its score, cluster, weight and the reason, best score first."""
    from rich.markup import escape
    from rich.table import Table

    labels = _names(selection, names)
    known = selection.scores[np.isfinite(selection.scores)]  # who is silent has no score
    spread = f", range {np.ptp(known):.3f}" if known.size else ""
    title = f"{selection.distribution}: {selection.clusters} cluster(s){spread}"
    table = Table(title=title, title_justify="left")
    for heading in ("provider", "score", "cluster", "weight"):
        table.add_column(heading, justify="right" if heading != "provider" else "left")
    table.add_column("decision")
    for i in np.argsort(-selection.scores, kind="stable"):
        role, cluster = selection.roles[i], selection.labels[i]
        table.add_row(
            escape(labels[i]),
            f"{selection.scores[i]:.3f}" if np.isfinite(selection.scores[i]) else "–",
            str(cluster) if cluster >= 0 else "–",
            f"{selection.weights[i]:.3f}",
            f"[{ROLE_COLOURS[role]}]{role}[/]: {selection.reason(int(i))}",
        )
    return table


def plot(selection: Selection, *, names: Sequence[str] | None = None) -> "Figure":
    """Scores on a line: clusters as bands, weight as height, kept and dropped marked."""
    from matplotlib.figure import Figure

    labels = _names(selection, names)
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    axes = figure.subplots()
    for cluster, centroid in enumerate(selection.centroids):
        members = selection.scores[selection.labels == cluster]
        axes.axvspan(members.min(), members.max(), color=SERIES[cluster % len(SERIES)], alpha=0.15, lw=4)
        axes.axvline(centroid, color=SERIES[cluster % len(SERIES)], lw=1, ls=":")
    for role in Role:
        chosen = [i for i, own in enumerate(selection.roles) if own is role]
        if chosen:
            at = selection.scores[chosen], selection.weights[chosen]
            axes.scatter(*at, s=60, color=ROLE_COLOURS[role], marker=ROLE_MARKERS[role], label=role, zorder=3)
    if selection.scores.size <= MOST_LABELS:
        _label(axes, selection, labels)
    axes.set(xlabel="score: cosine with the baseline", ylabel="weight", title=f"Scores: {selection.distribution}")
    axes.margins(y=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if selection.roles:
        figure.legend(loc="outside right upper", frameon=False)
    return figure


def _names(selection: Selection, names: Sequence[str] | None) -> Sequence[str]:
    if names is None:
        return [str(i) for i in range(selection.scores.size)]
    if len(names) != selection.scores.size:
        raise InputError(f"names must be one for each of {selection.scores.size} providers, got {len(names)}")
    return names


def _label(axes: "Axes", selection: Selection, names: Sequence[str]) -> None:
    """Name the points; neighbours on the line take turns in height, so that their names stay legible."""
    for rank, i in enumerate(np.argsort(selection.scores, kind="stable")):
        at = (float(selection.scores[i]), float(selection.weights[i]))
        offset = (0, 7 + 9 * (rank % 3))
        axes.annotate(names[i], at, xytext=offset, textcoords="offset points", ha="center", fontsize=7)
