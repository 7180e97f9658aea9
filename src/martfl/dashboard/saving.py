"""What readers can take along: tables as links that hold the file itself, charts as figures that carry their numbers.

The script save.js makes files of figures; without scripts its buttons are not shown.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from martfl.dashboard.markup import Child, Html, h
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
    data = "data:text/csv;charset=utf-8," + quote(csv_text(columns, rows))
    return h("p", h("a", f"Save as {name}", href=data, download=name), " (amounts in the smallest unit)")


def figure(
    *content: Child, columns: Sequence[str], rows: Iterable[Iterable[object]], class_: str | None = None
) -> Html:
    """A chart that can be saved: as a picture, and as the numbers behind it."""
    buttons = [h("button", kind.upper(), type="button", data_save=kind) for kind in ("svg", "csv")]
    return h(
        "figure", content, h("p", "Save as", buttons, class_="save"), class_=class_, data_csv=csv_text(columns, rows)
    )


def csv_text(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """The rows as a CSV file."""
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(_cell(name) for name in columns)
    table.writerows([_cell(value) for value in row] for row in rows)
    return written.getvalue()


def _cell(value: object) -> object:
    """Somebody else's name must not become a formula in a spreadsheet."""
    if isinstance(value, str) and value.startswith(FORMULAS):
        return "'" + value
    return "" if value is None else value
