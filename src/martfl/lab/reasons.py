"""Why a figure differs from the paper's, where that is known: every marked cell gets its reason or is listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from martfl.errors import InputError
from martfl.lab.tables import FAR, Grid
from martfl.values import Settings

MOST = 6  # cells that are named one by one


@dataclass(frozen=True)
class StatedReason:
    """What explains which cells: those whose row, column or metric names are all among the names given."""

    says: str
    names: tuple[frozenset[str], ...]  # of every set at least one must occur

    def covers(self, cell: frozenset[str]) -> bool:
        return all(wanted & cell for wanted in self.names)


def read_reason(values: Settings) -> StatedReason:
    """`says` and `cells`: lists of names, one name of each list must be the cell's."""
    if set(values) != {"says", "cells"} or not all(isinstance(part, list) for part in values["cells"]):
        raise InputError(f"a reason has says and cells (lists of names), got {dict(values)}")
    return StatedReason(values["says"], tuple(frozenset(part) for part in values["cells"]))


def marked_cells(grid: Grid) -> Iterator[tuple[str, ...]]:
    """The names of every cell that is far from the paper's."""
    for names, figures in zip(grid.names, grid.figures, strict=True):
        for place, figure in enumerate(figures):
            if figure.far:
                head = grid.header[len(names) + place]
                metric = grid.metrics[place % len(grid.metrics)]
                yield (*names, *head.removesuffix(metric).split(), metric)


def explain(grid: Grid, reasons: Sequence[StatedReason]) -> Iterator[str]:
    """Known reasons, each with its cells, then the cells without one."""
    left = list(marked_cells(grid))
    if not left:
        return
    lines = [f"More than {FAR:g} points away from the paper:"]
    for reason in reasons:
        covered = [cell for cell in left if reason.covers(frozenset(cell))]
        left = [cell for cell in left if cell not in covered]
        if covered:
            lines.append(f"- {reason.says} ({_cells(covered)})")
    if left:
        lines.append(f"- No reason is known. ({_cells(left)})")
    yield "\n".join([lines[0], "", *lines[1:]])


def _cells(cells: Sequence[tuple[str, ...]]) -> str:
    """Cells by their rows: `trec martfl: 20% mta, 30% mta`."""
    if len(cells) > MOST:
        return f"{len(cells)} cells"
    return "; ".join(" ".join(cell) for cell in cells)
