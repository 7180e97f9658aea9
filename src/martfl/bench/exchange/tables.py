"""The strategies for people."""

from collections.abc import Iterable

from rich.table import Table

from martfl.bench.exchange import ExchangeReport, Played
from martfl.tables import table

HEADS = ["strategy", "gain", "honest short by"]


def tables(report: ExchangeReport) -> Iterable[Table | str]:
    """What each came to, in coins; then the limits, with their reasons."""
    yield table("What breaking the rules comes to, in coins, against fair play", HEADS, map(_row, report.strategies))
    if report.limits:
        yield table("Limits that are stated", HEADS, map(_row, report.limits))
        yield from (f"{one.name}: {one.limit}" for one in report.limits)


def _row(one: Played) -> tuple[str, str, str]:
    return one.name, f"{one.gain:+.4f}", f"{one.short:.4f}"
