"""Tables that readers can take along: a link that holds the file itself, so that a page without scripts can save it."""

import csv
import io
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from martfl.dashboard.markup import Html, h
from martfl.dashboard.story import Story
from martfl.dashboard.words import label, role_of

MOST_ROWS = 20_000  # a page with more would be heavy to open
FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would compute
COLUMNS = (
    "epoch",
    "provider",
    "address",
    "decision",
    "weight",
    "ask",
    "price",
    "bonus",
    "paid",
    "added",
    "added error",
)


def payments_link(story: Story) -> Html | None:
    """Every provider's part in every epoch, amounts in the smallest unit."""
    rows = [
        (epoch.number, label(story, turn.provider), turn.provider, role_of(turn), turn.weight,
         turn.ask, turn.price, turn.bonus, turn.paid,
         turn.value and turn.value.added, turn.value and turn.value.error)
        for epoch in story.epochs
        for turn in epoch.turns
    ]  # fmt: skip
    return csv_link("payments.csv", COLUMNS, rows) if 0 < len(rows) <= MOST_ROWS else None


def csv_link(name: str, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> Html:
    """A link that saves these rows as a CSV file."""
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(columns)
    table.writerows([_cell(value) for value in row] for row in rows)
    data = "data:text/csv;charset=utf-8," + quote(written.getvalue())
    return h("p", h("a", f"Save as {name}", href=data, download=name), " (amounts in the smallest unit)")


def _cell(value: object) -> object:
    """Somebody else's name must not become a formula in a spreadsheet."""
    if isinstance(value, str) and value.startswith(FORMULAS):
        return "'" + value
    return "" if value is None else value
