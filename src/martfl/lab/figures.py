"""Figures of what was run: lines, cumulative distributions, bars and scatters, one panel per case.

matplotlib is imported when a figure is drawn, and draws into memory: no display is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from martfl.errors import InputError
from martfl.lab.drawn import to_csv
from martfl.lab.paper import published
from martfl.lab.tables import Outcome, distinct, summarise, text_of
from martfl.palette import SERIES
from martfl.values import Json, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

FORMATS = (".png", ".svg", ".pdf", ".csv")
Style = dict[str, Any]  # of matplotlib
NOTES = {".png": "Description", ".svg": "Description", ".pdf": "Subject"}
MARKERS = "osD^vP*Xhd<>p"
BANDS = 4  # with more lines, bands of deviation would only hide each other; the tables have them
LABELS = {
    "mta": "accuracy (%)", "asr": "attack success (%)", "dac": "cost: share bought (%)", "f1": "macro F1 (%)",
    "inclusiveness": "inclusiveness (%)", "robustness": "robustness (%)", "malicious": "malicious providers (%)",
    "biased": "biased providers (%)", "baseline_correctness": "correct baselines (%)",
    "inclusiveness_hq": "inclusiveness of unbiased providers (%)",
}  # fmt: skip


@dataclass(frozen=True)
class FigureSpec:
    """The `[figure]` part of an experiment file."""

    kind: str
    metrics: tuple[str, ...]
    lines: str
    panels: tuple[str, ...] = ()
    x: str = ""


@dataclass(frozen=True)
class Panel:
    """What one set of axes shows."""

    spec: FigureSpec
    where: Settings
    metric: str
    plans: Sequence[Settings]
    outcomes: Sequence[Outcome]
    paper: str | None
    order: Sequence[object]  # the lines of all panels: a line looks the same in each

    def names(self) -> list[object]:
        """The lines of this panel, in the order of the figure."""
        own = {name for (name,) in distinct(self.plans, (self.spec.lines,))}
        return [name for name in self.order if name in own]

    def style(self, name: object) -> Style:
        """How the line looks."""
        return style_of(name, self.order.index(name))


def figure_spec(values: Settings) -> FigureSpec:
    """Checked: unknown kinds and keys list the valid ones."""
    keys = ("kind", "metrics", "lines", "panels", "x")
    unknown = sorted(set(values) - set(keys))
    if unknown:
        raise InputError(f"[figure] has no {', '.join(unknown)}: it takes {', '.join(keys)}")
    kind = values.get("kind")
    if kind not in DRAW:
        raise InputError(f"unknown kind of figure {kind!r}: choose one of {', '.join(sorted(DRAW))}")
    if "metrics" not in values or "lines" not in values or (kind in ("lines", "scatter") and not values.get("x")):
        raise InputError(f"[figure] of kind {kind} needs metrics, lines and, for lines and scatter, x; got {values}")
    return FigureSpec(
        kind, tuple(values["metrics"]), values["lines"], tuple(values.get("panels", ())), values.get("x", "")
    )


def draw(
    spec: FigureSpec,
    *,
    title: str,
    planned: Iterable[Settings],
    outcomes: Iterable[Outcome],
    paper: str | None = None,
) -> Canvas:
    """One panel per case (and per metric); the published figures, where printed, as hollow marks."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as NewCanvas

    panels = _panels(spec, list(planned), list(outcomes), paper)
    columns = _columns(spec, panels)
    rows = math.ceil(len(panels) / columns)
    canvas = NewCanvas(figsize=(0.6 + 3.6 * columns, 1.1 + 2.9 * rows), layout="constrained")
    FigureCanvasAgg(canvas)
    axes = list(canvas.subplots(rows, columns, squeeze=False).flatten())
    for place, panel in zip(axes, panels, strict=False):
        place.set_title(_panel_title(panel), fontsize=9)
        place.grid(alpha=0.25)
        DRAW[spec.kind](place, panel)
        if not _holds_data(place):
            place.set_axis_off()
            place.set_title("")
    for place in axes[len(panels) :]:
        place.set_axis_off()
    if spec.kind == "lines":
        _share_x([place for place in axes if place.axison])
    _legend(canvas, axes)
    canvas.suptitle(title, fontsize=11)
    return canvas


def save(canvas: Canvas, path: Path, *, note: str = "") -> Path:
    """Write the figure, a note among its metadata; the ending chooses the format: a picture, or its numbers."""
    if path.suffix not in FORMATS:
        raise InputError(f"a figure is written as one of {', '.join(FORMATS)}, got {path.name!r}")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        path.write_text(to_csv(canvas), encoding="utf-8")
        return path
    canvas.savefig(path, dpi=150, metadata={NOTES[path.suffix]: note} if note else None)
    return path


def style_of(name: object, position: int) -> Style:
    """A colour and a mark per line; the oracle, a bound and no rival, in black dashes."""
    if name == "oracle":
        return {"color": "black", "marker": "x", "linestyle": "--"}
    again = position // len(SERIES)  # a colour that comes again has another mark and other strokes
    return {
        "color": SERIES[position % len(SERIES)],
        "marker": MARKERS[(position + again) % len(MARKERS)],
        "linestyle": "-." if again else "-",
    }


def cumulative(values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Sorted values and the share of rounds at or below each."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    return ordered, np.arange(1, ordered.size + 1) / max(ordered.size, 1)


def _panels(spec: FigureSpec, plans: list[Settings], outcomes: list[Outcome], paper: str | None) -> list[Panel]:
    if not plans:
        raise InputError("there is nothing to draw: the experiment has no runs")
    metrics = ("",) if spec.kind == "bars" else spec.metrics
    cases = [dict(zip(spec.panels, values, strict=True)) for values in distinct(plans, spec.panels)]
    order = [name for (name,) in distinct(plans, (spec.lines,))]
    return [
        Panel(spec, case, metric, [p for p in plans if _fits(p, case)], outcomes, paper, order)
        for case in cases
        for metric in metrics
    ]


def _holds_data(axes: Axes) -> bool:
    """Whether anything was drawn; a metric that an attack does not have leaves nothing."""
    if axes.patches or not axes.lines:
        return bool(axes.patches or axes.collections)
    return any(np.isfinite(np.asarray(line.get_ydata(), dtype=np.float64)).any() for line in axes.lines)


def _columns(spec: FigureSpec, panels: Sequence[Panel]) -> int:
    """One row per value of the first panel setting, if that fits; else about four, all metrics of a case in one row.

    Where each value has one panel, they stand side by side.
    """
    rows = len({panel.where[spec.panels[0]] for panel in panels}) if len(spec.panels) > 1 else 1
    wide = len(panels) // rows
    if wide == 1:
        return min(len(panels), 4)
    metrics = len({panel.metric for panel in panels})
    return wide if wide <= 5 else metrics * max(1, 4 // metrics)


def _share_x(panels: Sequence[Axes]) -> None:
    """The same range everywhere, so that a panel with a single point shows where it lies."""
    limits = [panel.get_xlim() for panel in panels]
    for panel in panels:
        panel.set_xlim(min(low for low, _ in limits), max(high for _, high in limits))


def _lines(axes: Axes, panel: Panel) -> None:
    """The metric over x, with its deviation as a band where lines are few; the published points hollow and dotted."""
    xs = sorted({x for (x,) in distinct(panel.plans, (panel.spec.x,))})
    for name in panel.names():
        where = {**panel.where, panel.spec.lines: name}
        shown = [summarise(panel.outcomes, {**where, panel.spec.x: x}, panel.metric) for x in xs]
        theirs = [published(panel.paper, panel.metric, {**where, panel.spec.x: x}) if panel.paper else None for x in xs]
        mean = np.array([math.nan if f.mean is None else f.mean for f in shown])
        spread = np.array([f.deviation or 0.0 for f in shown])
        style = panel.style(name) | {"markersize": 4}
        percent = 100 * np.array(xs)
        axes.plot(percent, mean, label=str(name), **style)
        if len(panel.names()) <= BANDS:
            axes.fill_between(percent, mean - spread, mean + spread, color=style["color"], alpha=0.12, linewidth=0)
        if any(theirs):
            points = [math.nan if t is None else t.mean for t in theirs]
            theirs_style = style | {"linestyle": ":", "markerfacecolor": "none"}
            axes.plot(percent, points, label=f"{name} (paper)", **theirs_style)
    _axis_labels(axes, panel.spec.x, panel.metric)
    axes.set_ylim(0, 102)


def _cdf(axes: Axes, panel: Panel) -> None:
    """The share of rounds in which the metric stayed at or below a value."""
    for name in panel.names():
        where = {**panel.where, panel.spec.lines: name}
        rounds = [r.get(panel.metric) for o in panel.outcomes if _fits(o.settings, where) for r in o.rounds]
        values, share = cumulative([value for value in rounds if value is not None and math.isfinite(value)])
        style = {key: value for key, value in panel.style(name).items() if key != "marker"}
        axes.step(values, share, where="post", label=str(name), **style)
    _axis_labels(axes, panel.metric, "share of rounds")
    axes.set_xlim(-2, 102)
    axes.set_ylim(0, 1.02)


def _bars(axes: Axes, panel: Panel) -> None:
    """All metrics side by side, a bar for every line."""
    names, metrics = panel.names(), panel.spec.metrics
    width = 0.8 / len(names)
    for position, name in enumerate(names):
        where = {**panel.where, panel.spec.lines: name}
        shown = [summarise(panel.outcomes, where, metric) for metric in metrics]
        places = np.arange(len(metrics)) + (position - (len(names) - 1) / 2) * width
        heights = [math.nan if f.mean is None else f.mean for f in shown]
        spread, style = [math.nan if f.deviation is None else f.deviation for f in shown], panel.style(name)
        hatch = "" if style["linestyle"] == "-" or name == "oracle" else "////"  # a colour that comes again
        looks = {"color": style["color"], "hatch": hatch, "edgecolor": "white", "linewidth": 0}
        axes.bar(places, heights, width, yerr=spread, capsize=2, label=str(name), **looks)
    axes.set_xticks(range(len(metrics)), [LABELS.get(m, m).removesuffix(" (%)") for m in metrics], fontsize=8)
    axes.set_ylabel("%", fontsize=8)
    axes.set_ylim(0, 105)


def _scatter(axes: Axes, panel: Panel) -> None:
    """One metric against another, a mark for every line; variants of a rule (`Krum-10`, `Krum-30`) share its colour."""
    families = list(dict.fromkeys(str(name).rsplit("-", 1)[0] for name in panel.order))
    for name in panel.names():
        family = families.index(str(name).rsplit("-", 1)[0])
        colour = style_of(name, family)["color"]
        where = {**panel.where, panel.spec.lines: name}
        across, up = (summarise(panel.outcomes, where, metric) for metric in (panel.spec.x, panel.metric))
        if across.mean is None or up.mean is None:
            continue
        axes.errorbar(
            across.mean, up.mean, xerr=across.deviation, yerr=up.deviation, label=str(name),
            markersize=6, elinewidth=0.7, color=colour, linestyle="none",
            fillstyle="full" if family < len(SERIES) else "none",  # a colour that comes again
            marker=MARKERS[panel.order.index(name) % len(MARKERS)],
        )  # fmt: skip
    _axis_labels(axes, panel.spec.x, panel.metric)
    axes.set_xlim(-5, 105)
    axes.set_ylim(-5, 105)


DRAW: dict[str, Callable[[Any, Panel], None]] = {"lines": _lines, "cdf": _cdf, "bars": _bars, "scatter": _scatter}


def _axis_labels(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(LABELS.get(x, x), fontsize=8)
    axes.set_ylabel(LABELS.get(y, y), fontsize=8)
    axes.tick_params(labelsize=8)


def _panel_title(panel: Panel) -> str:
    return ", ".join(text_of(key, value) for key, value in panel.where.items())


def _legend(canvas: Canvas, axes: Sequence[Axes]) -> None:
    """One legend for all panels, each name once."""
    found: Json = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        columns = min(len(found), 6, int(canvas.get_figwidth() / 1.4))
        canvas.legend(
            found.values(), found.keys(), loc="outside lower center", ncols=columns, fontsize=8, frameon=False
        )


def _fits(settings: Settings, where: Settings) -> bool:
    return all(settings.get(key) == value for key, value in where.items())
