"""Tables of what was run, mean ± deviation over the seeds, with the paper's own figure beside each of ours."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

from martfl.errors import InputError
from martfl.lab.late import late_gain
from martfl.lab.paper import Cell, published
from martfl.lab.provenance import UNKNOWN, Provenance
from martfl.values import Json, Settings

FAR = 3.0  # points; a larger distance from the published figure is marked and wants an explanation
MISSING = "–"
OLD = "†"
COLUMNS = ("mean", "deviation", "paper", "paper_deviation")
SHARES = frozenset(
    {
        "mta", "f1", "auc", "mta_own", "auc_own", "asr", "dac", "inclusiveness", "inclusiveness_hq", "robustness",
        "baseline_correctness",
        "baseline_correct", "validation", "mta_last", "mta_tail", "fall", "quantisation_loss", "f1_loss",
        "same_choices", "same_purchases",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """One finished run: its settings (`rule` by its label), its metrics in percent, and its rounds."""

    settings: Settings
    metrics: Mapping[str, float | None]
    rounds: Sequence[Mapping[str, float | None]] = ()
    old: bool = False  # made by code that has changed since
    made: Provenance = UNKNOWN


@dataclass(frozen=True)
class TableSpec:
    """Which settings are spread over rows and columns, and which metrics fill the cells."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """Ours and theirs for one cell."""

    mean: float | None
    deviation: float | None
    runs: int
    paper: Cell | None = None
    old: bool = False  # some of the runs were made by older code
    gain: float | None = None  # of accuracy in the last tenth of the rounds, where there is a published figure

    @property
    def far(self) -> bool:
        """Further from the published figure than needs no explanation."""
        return self.paper is not None and self.mean is not None and abs(self.mean - self.paper.mean) > FAR

    def values(self) -> dict[str, float | None]:
        """The numbers by name."""
        theirs = (self.paper.mean, self.paper.deviation) if self.paper else (None, None)
        return dict(zip(COLUMNS, (self.mean, self.deviation, *theirs), strict=True))

    def __str__(self) -> str:
        ours = _with_deviation(self.mean, self.deviation) + "*" * self.far + OLD * self.old
        return ours if self.paper is None else f"{ours} [{_with_deviation(self.paper.mean, self.paper.deviation)}]"


@dataclass(frozen=True)
class Grid:
    """A table ready to be written: names in the first columns, figures in the others."""

    title: str
    header: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]  # [rows][name columns]
    figures: tuple[tuple[Figure, ...], ...]  # [rows][figure columns]
    metrics: tuple[str, ...]  # of the figure columns, in turn
    notes: tuple[str, ...] = ()

    @property
    def holds_figures(self) -> bool:
        """Whether anything was run, or published."""
        return any(figure.runs or figure.paper for row in self.figures for figure in row)

    def lines(self) -> list[tuple[str, ...]]:
        """Every row as text."""
        return [names + tuple(str(f) for f in figures) for names, figures in zip(self.names, self.figures, strict=True)]


def table_spec(values: Settings) -> TableSpec:
    """The `[table]` part of an experiment file."""
    expected = ("rows", "columns", "metrics")
    if sorted(values) != sorted(expected) or not all(_strings(values[key]) for key in expected):
        raise InputError(f"[table] takes lists of names for {', '.join(expected)}, got {dict(values)}")
    return TableSpec(*(tuple(values[key]) for key in expected))


def build_table(
    spec: TableSpec,
    *,
    title: str,
    planned: Iterable[Settings],
    outcomes: Iterable[Outcome],
    paper: str | None = None,
) -> Grid:
    """Spread the outcomes over the plan; what has not been run stays empty. The plan gives the order."""
    plans, found = list(planned), list(outcomes)
    rows, columns = in_groups(distinct(plans, spec.rows)), distinct(plans, spec.columns)
    axes, groups = spec.rows + spec.columns, dict[tuple[object, ...], list[Outcome]]()
    for outcome in found:
        groups.setdefault(tuple(outcome.settings.get(axis) for axis in axes), []).append(outcome)
    figures = tuple(
        tuple(
            summarise(groups.get(row + column, ()), dict(zip(axes, row + column, strict=True)), metric, paper)
            for column in columns
            for metric in spec.metrics
        )
        for row in rows
    )
    heads = tuple(_head(spec.columns, column, metric) for column in columns for metric in spec.metrics)
    names = tuple(tuple(text_of(key, value) for key, value in zip(spec.rows, row, strict=True)) for row in rows)
    return Grid(title, spec.rows + heads, names, figures, spec.metrics, _notes(figures, found))


def summarise(outcomes: Iterable[Outcome], where: Settings, metric: str, paper: str | None = None) -> Figure:
    """Mean and sample deviation over the runs with these settings, and the published figure for them."""
    matching = [o for o in outcomes if all(o.settings.get(key) == value for key, value in where.items())]
    found = [(value, o.old) for o in matching if (value := o.metrics.get(metric)) is not None and math.isfinite(value)]
    values = [value for value, _ in found]
    theirs = published(paper, metric, where) if paper else None
    deviation = stdev(values) if len(values) > 1 else None
    gain = late_gain(o.rounds for o in matching) if theirs else None
    return Figure(fmean(values) if values else None, deviation, len(values), theirs, any(old for _, old in found), gain)


def to_pages(grid: Grid) -> list[Grid]:
    """Small tables that fit a terminal: one for each metric and each value of all row names but the last.

    A metric that an attack does not have gets none.
    """
    lead = len(grid.names[0]) - 1 if grid.names else 0
    pages = []
    for group in dict.fromkeys(names[:lead] for names in grid.names):
        cut = [_page(grid, group, metric) for metric in grid.metrics]
        pages += [page for page in cut if page.holds_figures] or cut
    return pages


def _page(grid: Grid, group: tuple[str, ...], metric: str) -> Grid:
    lead, first, step = len(group), grid.metrics.index(metric), len(grid.metrics)
    chosen = [i for i, names in enumerate(grid.names) if names[:lead] == group]
    heads = grid.header[lead + 1 :][first::step]
    return replace(
        grid,
        title=" · ".join((grid.title, *group, metric)),
        header=(grid.header[lead], *(head.removesuffix(f" {metric}") for head in heads)),
        names=tuple(grid.names[i][lead:] for i in chosen),
        figures=tuple(grid.figures[i][first::step] for i in chosen),
        metrics=(metric,),
        notes=(),
    )


def to_grids(grid: Grid) -> list[Grid]:
    """One table for each metric, where there are several columns of each; a metric that nobody has gets none."""
    step = len(grid.metrics)
    if step == 1 or not grid.names or len(grid.figures[0]) == step:
        return [grid]
    lead = len(grid.names[0])
    found = []
    for first, metric in enumerate(grid.metrics):
        heads = (head.removesuffix(f" {metric}") for head in grid.header[lead:][first::step])
        part = replace(
            grid,
            title=f"{grid.title}: {metric}",
            header=(*grid.header[:lead], *heads),
            figures=tuple(row[first::step] for row in grid.figures),
            metrics=(metric,),
            notes=(),
        )
        found += [part] if part.holds_figures else []
    return [*found[:-1], replace(found[-1], notes=grid.notes)] if found else [grid]


def to_records(grid: Grid) -> list[Json]:
    """One record per figure; shares are fractions, as in all JSON."""
    records = []
    for row, figures in zip(grid.names, grid.figures, strict=True):
        heads = grid.header[len(row) :]
        for head, metric, shown in zip(heads, itertools.cycle(grid.metrics), figures, strict=False):
            where = dict(zip(grid.header, row, strict=False)) | {"column": head.removesuffix(f" {metric}")}
            scale = 100 if metric in SHARES else 1
            numbers = {key: None if value is None else value / scale for key, value in shown.values().items()}
            records.append(where | {"metric": metric, "runs": shown.runs} | numbers)
    return records


def to_markdown(grid: Grid) -> str:
    """A Markdown table under its title, notes below."""
    marks = ["---"] * len(grid.names[0]) if grid.names else ["---"] * len(grid.header)
    marks += ["---:"] * (len(grid.header) - len(marks))
    lines = [grid.header, tuple(marks), *grid.lines()]
    return "\n\n".join([f"**{grid.title}**", markdown_lines(lines), *grid.notes]) + "\n"


def markdown_lines(lines: Iterable[Sequence[str]]) -> str:
    """Rows of cells as Markdown; heads and marks are rows like others."""
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def to_csv(grid: Grid) -> str:
    """One line per figure, numbers unrounded: for whoever wants to compute with them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    name_columns = len(grid.names[0]) if grid.names else 0
    head = grid.header[:name_columns]
    writer.writerow([*head, "column", "runs", *COLUMNS])
    for names, figures in zip(grid.names, grid.figures, strict=True):
        for column, shown in zip(grid.header[name_columns:], figures, strict=True):
            writer.writerow([*names, column, shown.runs, *shown.values().values()])
    return out.getvalue()


def _notes(figures: Iterable[Iterable[Figure]], outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """What a reader must know: how many seeds and rounds, what the brackets and the star mean, what diverged."""
    flat = [shown for row in figures for shown in row]
    runs = sorted({shown.runs for shown in flat if shown.runs})
    notes = [f"Runs a cell: {_span(runs)}. Deviation: of the sample, over seeds."] if runs else ["Nothing was run yet."]
    rounds = sorted({int(o.metrics["rounds"] or 0) for o in outcomes if o.metrics.get("rounds")})
    if rounds:
        notes[0] += f" Rounds a run: {_span(rounds)}."
    if any(shown.paper for shown in flat):
        notes.append("In brackets: the paper's own figure." + _far_note(flat))
    if any(shown.old for shown in flat):
        notes.append(f"{OLD}: made by code that has changed since.")
    diverged = sum(bool(o.settings.get("diverged")) for o in outcomes)
    return (*notes, f"{diverged} runs diverged and are left out.") if diverged else tuple(notes)


def _far_note(figures: Iterable[Figure]) -> str:
    return f" A star: more than {FAR:g} points away from it." if any(shown.far for shown in figures) else ""


def _span(values: Sequence[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _with_deviation(mean: float | None, deviation: float | None) -> str:
    if mean is None:
        return MISSING
    return f"{mean:.2f}" if deviation is None else f"{mean:.2f} ± {deviation:.2f}"


def distinct(plans: Iterable[Settings], keys: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """The different values of these settings, in the order of the plan."""
    return list(dict.fromkeys(tuple(plan.get(key) for key in keys) for plan in plans))


def in_groups(rows: Sequence[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Rows of the same beginning next to each other, every name in the place of its first appearance."""
    ranks: list[dict[object, int]] = [{} for _ in rows[0]] if rows else []
    for row in rows:
        for place, name in zip(ranks, row, strict=True):
            place.setdefault(name, len(place))
    return sorted(rows, key=lambda row: [place[name] for place, name in zip(ranks, row, strict=True)])


def _head(keys: tuple[str, ...], values: tuple[object, ...], metric: str) -> str:
    parts = [text_of(key, value) for key, value in zip(keys, values, strict=True)]
    return " ".join([*parts, metric])


def text_of(key: str, value: object) -> str:
    """Shares of providers as percentages, other numbers with their names, everything else as it is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:.0%}" if key in ("biased", "malicious") else f"{key} {value:g}"


def _strings(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(part, str) for part in value)
