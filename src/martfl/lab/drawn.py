"""The numbers that a figure shows, for whoever wants to draw it anew: one line a point."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

COLUMNS = ("panel", "line", "x", "at", "y", "value")


def to_csv(canvas: Canvas) -> str:
    """Every point of every panel: whose it is, what the axes say, and where it is on them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for axes in canvas.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            points = [(at, float(value)) for at, value in _points(axes, handle) if math.isfinite(value)]
            where = (axes.get_title(), name, axes.get_xlabel())
            writer.writerows((*where, at, axes.get_ylabel(), value) for at, value in points)
    return out.getvalue()


def _points(axes: Axes, handle: Any) -> Iterator[tuple[object, float]]:
    """The points behind an entry of the legend: a line's, a mark's with its errors, or bars by their names."""
    if hasattr(handle, "patches"):
        names = [tick.get_text() for tick in axes.get_xticklabels()]
        yield from zip(names, (bar.get_height() for bar in handle.patches), strict=True)
        return
    line = handle.lines[0] if hasattr(handle, "lines") else handle
    yield from ((float(x), y) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True))
