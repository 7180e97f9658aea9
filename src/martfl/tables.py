"""Tables for the terminal."""

from collections.abc import Iterable

from rich.table import Table


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    """A plain table: the first column left-aligned, the rest right-aligned."""
    grid = Table(title=title, title_justify="left")
    for position, column in enumerate(columns):
        grid.add_column(column, justify="left" if position == 0 else "right")
    for row in rows:
        grid.add_row(*(str(cell) for cell in row))
    return grid
