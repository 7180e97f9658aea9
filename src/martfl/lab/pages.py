"""Pages of results: Markdown from what was run, section by section, as a small file says. Nothing is typed.

A page file names experiments in their order, what is to be said before each, and known reasons for differences from
the paper. Figures of the text are computed, too: `{{mta: dataset=trec, rule=martfl}}` becomes the mean.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from martfl.errors import InputError
from martfl.lab.conditions import coverage, describe_conditions
from martfl.lab.figures import save
from martfl.lab.goals import judge, read_goals
from martfl.lab.measured import BENCHES
from martfl.lab.reasons import StatedReason, explain, read_reason
from martfl.lab.render import LENGTH, Results, read_results, render_figure, render_table
from martfl.lab.tables import summarise, table_spec, to_grids, to_markdown

FIGURE = re.compile(r"\{\{(\w+):\s*([^}]*)\}\}")


@dataclass(frozen=True)
class Section:
    """One experiment, or one benchmark, on a page."""

    heading: str
    text: str = ""
    experiment: str = ""
    bench: str = ""
    only: tuple[str, ...] = ()
    figure: bool = True
    reasons: tuple[StatedReason, ...] = ()


@dataclass(frozen=True)
class Page:
    """A file of the documentation."""

    name: str
    title: str
    text: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Places:
    """Where everything lies."""

    experiments: Path
    results: Path
    pages: Path
    keep_old: bool = False
    known: dict[tuple[str, tuple[str, ...]], Results] = field(default_factory=dict)

    def results_of(self, section: Section) -> Results:
        """Read once for a section."""
        key = section.experiment, section.only
        if key not in self.known:
            path = self.experiments / f"{section.experiment}.toml"
            self.known[key] = read_results(path, out=self.results, only=section.only, keep_old=self.keep_old)
        return self.known[key]


def load_page(path: Path) -> Page:
    """Read and check a page file."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    known = {"heading", "text", "experiment", "bench", "only", "figure", "reason"}
    sections = []
    for part in content.get("section", ()):
        unknown = sorted(set(part) - known)
        if unknown or ("experiment" in part) == ("bench" in part) or "heading" not in part:
            raise InputError(f"{path}: a section has a heading and an experiment or a bench, got {sorted(part)}")
        reasons = tuple(read_reason(reason) for reason in part.get("reason", ()))
        plain = {key: value for key, value in part.items() if key not in ("reason", "only")}
        sections.append(Section(**plain, only=tuple(part.get("only", ())), reasons=reasons))
    return Page(path.stem, content["title"], content.get("text", ""), tuple(sections))


def render_page(page: Page, places: Places) -> str:
    """The whole page."""
    parts = [f"# {page.title}", page.text.strip()]
    for section in page.sections:
        parts += [f"## {section.heading}", *_section(section, places)]
    return "\n\n".join(part for part in parts if part) + "\n"


def draw_page(page: Page, places: Places) -> list[Path]:
    """The page's figures, each with the digest of what it shows in its metadata."""
    drawn = []
    for section in page.sections:
        if shows_figure(section, places):
            results = places.results_of(section)
            path = places.pages / image_of(section)
            drawn.append(save(render_figure(results), path, note=digest_of(results)))
    return drawn


def shows_figure(section: Section, places: Places) -> bool:
    """Whether there is anything to draw."""
    if not section.experiment or not section.figure:
        return False
    results = places.results_of(section)
    return "figure" in results.experiment.meta and bool(results.outcomes)


def image_of(section: Section) -> str:
    """Where the figure lies, beside the page."""
    return f"images/{'-'.join([section.experiment, *(term.partition('=')[2] for term in section.only)])}.png"


def digest_of(results: Results) -> str:
    """A hash of everything that a table or a figure of these results shows."""
    shown = [(dict(o.settings), dict(o.metrics), [dict(row) for row in o.rounds], o.old) for o in results.outcomes]
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:16]


def _section(section: Section, places: Places) -> Iterator[str]:
    if section.bench:
        yield section.text.strip()
        yield from BENCHES[section.bench](places.results)
        return
    results = places.results_of(section)
    yield _filled(section, results)
    file = f"experiments/{section.experiment}.toml"
    done, planned = coverage(results.plan, results.outcomes, LENGTH)
    yield f"[`{file}`](../{file}): {done} of {planned} planned runs. " + " ".join(_conditions(results))
    if not results.outcomes:
        return
    for goal in read_goals(results.experiment.meta):
        yield from judge(goal, table_spec(results.experiment.meta["table"]), results.plan, results.outcomes)
    grid = render_table(results)
    yield from (to_markdown(part).strip() for part in to_grids(grid))
    yield from explain(grid, _reasons(section, results))
    if shows_figure(section, places):
        yield f"![{results.experiment.title}]({image_of(section)})"


def _conditions(results: Results) -> Sequence[str]:
    return describe_conditions(results.plan, results.outcomes) if results.outcomes else ["Nothing was run yet."]


def _filled(section: Section, results: Results) -> str:
    """The text with its figures; a section whose figures were not measured has none."""
    return _with_figures(section.text.strip(), results)


def _reasons(section: Section, results: Results) -> list[StatedReason]:
    """Those whose figures were measured."""
    filled = [(reason, _with_figures(reason.says, results)) for reason in section.reasons]
    return [replace(reason, says=says) for reason, says in filled if says]


def _with_figures(text: str, results: Results) -> str:
    """Nothing if one of them was not measured."""
    try:
        return FIGURE.sub(lambda found: _figure(found, results), text)
    except LookupError:
        return ""


def _figure(found: re.Match[str], results: Results) -> str:
    terms = [term.split("=") for term in found[2].split(",") if term.strip()]
    where = {key.strip(): value.strip() for key, value in terms}
    chosen = [o for o in results.outcomes if all(str(o.settings.get(key)) == value for key, value in where.items())]
    mean = summarise(chosen, {}, found[1]).mean
    if mean is None:
        raise LookupError(found[0])
    return f"{mean:.1f}"
