"""A report on a lab's results: what was run, what came out, how it went round by round."""

import base64
import io
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, stdev

from martfl.dashboard.charts import line_chart
from martfl.dashboard.document import standalone
from martfl.dashboard.markup import Html, h, section
from martfl.dashboard.report import write_file
from martfl.dashboard.words import moment, plural
from martfl.errors import InputError
from martfl.lab.result import RunResult, Status
from martfl.lab.store import Store
from martfl.lab.suite import settings_of
from martfl.values import Json

METRICS = {
    "mta": "accuracy",
    "asr": "attack success",
    "dac": "share bought",
    "inclusiveness": "honest included",
    "robustness": "malicious kept out",
}
RunGroup = tuple[str, list[RunResult]]  # one configuration, its seeds
MOST_LINES = 8
STATUS: tuple[Status, ...] = ("done", "diverged", "failed")


def write_lab_report(folder: Path, out: Path, *, experiment: Path | None = None) -> Path:
    """The report on an experiment's folder; with its file, also the table and figure that the file asks for."""
    store = Store(folder)
    records = store.records()
    if not records:
        raise InputError(f"{folder} holds no results")
    parts = [_summary(records), _table(records), _curves(store, records)]
    if experiment is not None:
        parts[1:1] = _rendered(experiment, folder)
    subtitle = f"Lab results. Written {moment(time.time())}."
    return write_file(out, standalone(folder.resolve().name, *parts, subtitle=subtitle))


def groups(records: Iterable[RunResult]) -> list[RunGroup]:
    """Runs that differ in their seed only, under the settings in which groups differ."""
    done = [record for record in records if record.status != "failed"]
    configs = [settings_of(record.config) for record in done]
    keys = sorted({key for config in configs for key in config} - {"seed", "label"})
    varying = [key for key in keys if len({str(config.get(key)) for config in configs}) > 1]
    named = ["rule", *(key for key in varying if key != "rule")]
    found: dict[str, list[RunResult]] = {}
    for record, config in zip(done, configs, strict=True):
        name = ", ".join(str(config[key]) if key == "rule" else f"{key} {config.get(key)}" for key in named)
        found.setdefault(name, []).append(record)
    return list(found.items())


def _summary(records: Sequence[RunResult]) -> Html:
    status = [record.status for record in records]
    tiles = [("runs", str(len(records))), *((word, str(status.count(word))) for word in STATUS)]
    tiles.append(("of older code", str(sum(record.old for record in records if record.status != "failed"))))
    grid = h("dl", [h("div", h("dt", name), h("dd", value)) for name, value in tiles], class_="tiles")
    words = "Every figure below is computed from the files beside this report."
    shared = ", ".join(f"{key} {value}" for key, value in _shared(records).items() if value not in ("", None, {}, []))
    return section("summary", "In short", grid, h("p", words), h("p", "All runs: ", shared, class_="note long"))


def _shared(records: Sequence[RunResult]) -> Json:
    """The settings that all runs share."""
    first, *others = [asdict(record.config) for record in records]
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}


def _table(records: Sequence[RunResult]) -> Html:
    shown = {key: words for key, words in METRICS.items() if any(getattr(r, key) is not None for r in records)}
    head = h(
        "tr", h("th", "run"), h("th", "seeds", class_="number"), [h("th", w, class_="number") for w in shown.values()]
    )
    rows = [
        h(
            "tr",
            h("th", name, scope="row"),
            h("td", len(runs), class_="number", data_label="seeds"),
            [h("td", _mean(runs, key), class_="number", data_label=words) for key, words in shown.items()],
        )
        for name, runs in groups(records)
    ]
    note = "In percent, mean over the seeds and the deviation of the sample. Runs that failed are left out."
    table = h("table", h("thead", head), h("tbody", rows), class_="cards")
    return section("results", "Results", h("p", note), table, _failures(records))


def _mean(runs: Sequence[RunResult], key: str) -> str:
    values = [100 * float(value) for run in runs if (value := getattr(run, key)) is not None]
    if not values:
        return "–"
    return f"{fmean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def _failures(records: Sequence[RunResult]) -> Html | None:
    failed = [record for record in records if record.status == "failed"]
    return h("ul", [h("li", f"{r.name}, seed {r.config.seed}: {r.error}") for r in failed]) if failed else None


def _curves(store: Store, records: Sequence[RunResult]) -> Html:
    """Accuracy by round, mean over the seeds."""
    series, rounds = {}, store.rounds()
    for name, runs in groups(records)[:MOST_LINES]:
        points: dict[float, list[float]] = {}
        for row in (row for run in runs for row in rounds.get(run.key, ())):
            if row.get("mta") is not None:
                points.setdefault(row["round"] or 0.0, []).append(row["mta"] or 0.0)
        if points:
            series[name] = [(x, fmean(values)) for x, values in sorted(points.items())]
    chart = line_chart(series, title="Accuracy by round", x="round", y="accuracy", unit="%")
    more = len(groups(records)) - MOST_LINES
    rest = h("p", f"{plural(more, 'further configuration')} not drawn.") if more > 0 else None
    return section("rounds", "Round by round", h("p", "Accuracy on test data, mean over the seeds."), chart, rest)


def _rendered(experiment: Path, folder: Path) -> list[Html]:
    from martfl.lab.drawn import to_csv as figure_csv
    from martfl.lab.render import load_results, render_figure, render_table
    from martfl.lab.tables import to_csv as table_csv

    results = load_results(experiment, out=folder.resolve().parent)
    found = []
    if "table" in results.experiment.meta:
        grid = render_table(results)
        head = h("tr", [h("th", name) for name in grid.header])
        rows = [h("tr", [h("td", cell) for cell in line]) for line in grid.lines()]
        table = h("div", h("table", h("thead", head), h("tbody", rows)), class_="scroll", tabindex=0)
        link = h("p", _saved("table.csv", "text/csv", table_csv(grid).encode()))
        found.append(section("table", grid.title, table, [h("p", note, class_="note") for note in grid.notes], link))
    if "figure" in results.experiment.meta:
        stream, canvas = io.BytesIO(), render_figure(results)
        canvas.savefig(stream, format="svg")
        picture = h("img", src=_data("image/svg+xml", stream.getvalue()), alt=results.experiment.title)
        links = [
            _saved("figure.svg", "image/svg+xml", stream.getvalue()),
            ", ",
            _saved("figure.csv", "text/csv", figure_csv(canvas).encode()),
        ]
        found.append(section("figure", "Figure", h("div", picture, class_="paper"), h("p", links)))
    return found


def _saved(name: str, kind: str, content: bytes) -> Html:
    """A link that holds the file itself."""
    return h("a", f"Save as {name}", href=_data(kind, content), download=name)


def _data(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
