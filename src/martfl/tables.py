"""Tables for the terminal, which stay readable where it is narrow."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text


class FittingTable(Table):
    """A table with borders where they fit, without them where only words fit, else a paragraph a row."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._least(console, options) > options.max_width:
            self.box, self.pad_edge, self.collapse_padding = None, False, True
        if self._least(console, options) <= options.max_width:
            yield from super().__rich_console__(console, options)
        else:
            yield from self._paragraphs()

    def _least(self, console: Console, options: ConsoleOptions) -> int:
        """The width at which no word is cut; what a column may fold is no obstacle."""
        free = options.update(max_width=10_000)
        kept = (column for column in self.columns if column.overflow != "fold")
        return self._extra_width + sum(self._measure_column(console, free, column).minimum for column in kept)

    def _paragraphs(self) -> Iterable[Text | Padding]:
        if self.title:
            yield Text.from_markup(f"[italic]{self.title}[/]")
        heads = [str(column.header) for column in self.columns]
        for cells in zip(*(column.cells for column in self.columns), strict=True):
            pairs = zip(heads[1:], map(str, cells[1:]), strict=True)
            said = [f"{head} {cell}" for head, cell in pairs if Text.from_markup(cell).plain.strip()]
            yield Text.from_markup(f"{heads[0]} [bold]{cells[0]}[/]")
            yield Padding(Text.from_markup(" · ".join(said)), (0, 0, 0, 2))


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    """A plain table: the first column left-aligned, the rest right-aligned."""
    grid = FittingTable(title=title, title_justify="left")
    for position, column in enumerate(columns):
        grid.add_column(column, justify="left" if position == 0 else "right")
    for row in rows:
        grid.add_row(*(str(cell) for cell in row))
    return grid
