"""Why a figure differs from the paper's, where that is known: every marked cell gets its reason or is listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from martfl.errors import InputError
from martfl.lab.tables import FAR, Figure, Grid
from martfl.values import Settings

MOST = 8  # rows whose cells are named one by one; without a reason all are


@dataclass(frozen=True)
class StatedReason:
    """What explains which cells: those whose row, column or metric names are all among the names given."""

    says: str
    names: tuple[frozenset[str], ...]  # of every set at least one must occur
    rising: float | None = None  # only cells below the paper's whose accuracy still rose by so many points at the end

    def covers(self, cell: frozenset[str], figure: Figure) -> bool:
        return all(wanted & cell for wanted in self.names) and (self.rising is None or _rose(figure, self.rising))


def _rose(figure: Figure, least: float) -> bool:
    below = figure.paper is not None and figure.mean is not None and figure.mean < figure.paper.mean
    return below and figure.gain is not None and figure.gain >= least


def read_reason(values: Settings) -> StatedReason:
    """`says`, `cells`: lists of names, one name of each list must be the cell's; and `rising`, points, if need be."""
    rising = values.get("rising")
    if (
        not {"says", "cells"} <= set(values) <= {"says", "cells", "rising"}
        or not all(isinstance(part, list) for part in values["cells"])
        or not isinstance(rising, (int, float, type(None)))
    ):
        raise InputError(f"a reason has says and cells (lists of names), and may have rising, got {dict(values)}")
    return StatedReason(values["says"], tuple(frozenset(part) for part in values["cells"]), rising)


def marked_cells(grid: Grid) -> Iterator[tuple[tuple[str, ...], Figure]]:
    """The names of every cell that is far from the paper's, and what stands there."""
    for names, figures in zip(grid.names, grid.figures, strict=True):
        for place, figure in enumerate(figures):
            if figure.far:
                head = grid.header[len(names) + place]
                metric = grid.metrics[place % len(grid.metrics)]
                yield (*names, *head.removesuffix(metric).split(), metric), figure


def explain(grid: Grid, reasons: Sequence[StatedReason]) -> Iterator[str]:
    """Known reasons, each with its cells, then the cells without one."""
    left = list(marked_cells(grid))
    if not left:
        return
    lines = [f"More than {FAR:g} points away from the paper:"]
    lead = len(grid.names[0])
    for reason in reasons:
        covered = [cell for cell, figure in left if reason.covers(frozenset(cell), figure)]
        left = [(cell, figure) for cell, figure in left if cell not in covered]
        if covered:
            rows = _by_rows(covered, lead)
            lines.append(f"- {reason.says} ({'; '.join(rows) if len(rows) <= MOST else f'{len(covered)} cells'})")
    if left:
        lines.append(f"- No reason is known. ({'; '.join(_by_rows([cell for cell, _ in left], lead))})")
    yield "\n".join([lines[0], "", *lines[1:]])


def _by_rows(cells: Sequence[tuple[str, ...]], lead: int) -> list[str]:
    """`trec martfl: 20% mta, 30% mta`."""
    rows: dict[str, list[str]] = {}
    for cell in cells:
        rows.setdefault(" ".join(cell[:lead]), []).append(" ".join(cell[lead:]))
    return [f"{row}: {', '.join(places)}" for row, places in rows.items()]
