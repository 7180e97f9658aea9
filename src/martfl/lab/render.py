"""From a folder of results to the table and the figure that its experiment file asks for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from martfl.errors import InputError
from martfl.lab.figures import draw, figure_spec
from martfl.lab.result import RunResult
from martfl.lab.store import Store
from martfl.lab.suite import Experiment, load_experiment, select, settings_of
from martfl.lab.tables import SHARES, Grid, Outcome, build_table, table_spec
from martfl.values import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

LENGTH = frozenset({"seed", "rounds", "patience", "eval_every", "precision"})  # how long and how often, not what


@dataclass(frozen=True)
class Results:
    """An experiment with what was run of it."""

    experiment: Experiment
    plan: tuple[Settings, ...]  # the settings of all its runs, in the order of the file
    outcomes: tuple[Outcome, ...]
    failed: int
    left_out: int  # runs of older code
    everything: bool = False  # keep room for what was not run yet

    def shown(self, axes: tuple[str, ...]) -> list[Settings]:
        """What to show: the plan as far as it was run, then what was run beyond it."""
        run, planned = ({_place(s, axes) for s in some} for some in ([o.settings for o in self.outcomes], self.plan))
        kept = [settings for settings in self.plan if self.everything or _place(settings, axes) in run]
        return [*kept, *(o.settings for o in self.outcomes if _place(o.settings, axes) not in planned)]


def read_results(path: Path, *, out: Path, only: Sequence[str] = (), keep_old: bool = False) -> Results:
    """The results of an experiment file in `out`, those of the present code unless older ones are asked for."""
    experiment = load_experiment(path)
    plan = [settings_of(run) for run in select(experiment.runs, only)]
    found = [stored for stored in _stored(experiment, plan, out) if select([stored.result.config], only)]
    failed = sum(stored.result.status == "failed" for stored in found)
    done = [stored for stored in found if stored.result.status != "failed"]
    shown = [stored for stored in done if keep_old or not stored.result.old]
    outcomes = tuple(_outcome(stored) for stored in shown)
    return Results(experiment, tuple(plan), outcomes, failed, len(done) - len(shown))


def load_results(
    path: Path, *, out: Path, only: Sequence[str] = (), everything: bool = False, keep_old: bool = False
) -> Results:
    """The same, refused where there are none; `everything` keeps room for what was not run yet."""
    results = read_results(path, out=out, only=only, keep_old=keep_old)
    if not results.outcomes and not everything:
        older = f"; {results.left_out} runs of older code are there, which --keep-old shows" if results.left_out else ""
        raise InputError(f"no results of {path} in {out / path.stem}: run it first with `martfl lab run {path}`{older}")
    return replace(results, everything=everything)


def render_table(results: Results) -> Grid:
    """The file's `[table]`, filled."""
    spec = table_spec(_part(results.experiment, "table"))
    axes = spec.rows + spec.columns
    check_unmixed(results.outcomes, axes)
    grid = build_table(
        spec,
        title=results.experiment.title,
        planned=results.shown(axes),
        outcomes=results.outcomes,
        paper=results.experiment.paper or None,
    )
    notes = [f"{results.failed} runs failed and are left out; running the file again repeats them."]
    notes = notes if results.failed else []
    if results.left_out:
        notes.append(f"{results.left_out} runs of older code are left out; --keep-old shows them.")
    return replace(grid, notes=(*grid.notes, *notes))


def render_figure(results: Results) -> Canvas:
    """The file's `[figure]`, drawn."""
    spec = figure_spec(_part(results.experiment, "figure"))
    axes = (*spec.panels, spec.lines, *([spec.x] if spec.kind == "lines" else []))
    check_unmixed(results.outcomes, axes)
    older = " († with results of older code)" if any(outcome.old for outcome in results.outcomes) else ""
    return draw(
        spec,
        title=results.experiment.title + older,
        planned=results.shown(axes),
        outcomes=results.outcomes,
        paper=results.experiment.paper or None,
    )


def check_unmixed(outcomes: Sequence[Outcome], axes: tuple[str, ...]) -> None:
    """Refuse to average runs of one seed that differ in a setting which the table or figure does not show."""
    seen: dict[tuple[object, ...], Settings] = {}
    for outcome in outcomes:
        settings = outcome.settings
        first = seen.setdefault((*_place(settings, axes), settings["seed"]), settings)
        differing = [key for key in settings if settings[key] != first.get(key) and key != "diverged"]
        if differing:
            shown = ", ".join(f"{key} = {first.get(key)} and {settings[key]}" for key in differing)
            raise InputError(f"the results mix runs of one seed with {shown}: choose with --only KEY=VALUE")


@dataclass(frozen=True)
class Stored:
    """A result with its rounds."""

    result: RunResult
    rounds: Sequence[Mapping[str, float | None]]


def _stored(experiment: Experiment, plan: Sequence[Settings], out: Path) -> list[Stored]:
    """The experiment's own results, and those of experiments that it names in `also`, as far as it plans them too."""
    found: dict[str, Stored] = {}
    kinds, planned = {_kind(settings) for settings in plan}, {run.identity(): run for run in experiment.runs}
    for name in (experiment.name, *experiment.meta.get("also", ())):
        store = Store(out / name)
        rounds = store.rounds()
        for result in store.records():
            if result.id in planned:  # under the name that this file gives it
                config = dataclasses.replace(result.config, label=planned[result.id].label)
                result = dataclasses.replace(result, config=config)
            own = name == experiment.name or result.id in planned or _kind(settings_of(result.config)) in kinds
            if own and (result.id not in found or (found[result.id].result.old and not result.old)):
                found[result.id] = Stored(result, rounds.get(result.key, ()))
    return list(found.values())


def _kind(settings: Settings) -> str:
    """What a run is about, whatever its seed and length."""
    return repr(sorted((key, value) for key, value in settings.items() if key not in LENGTH))


def _part(experiment: Experiment, name: str) -> Settings:
    part = experiment.meta.get(name)
    if not isinstance(part, dict):
        there = ", ".join(f"[{key}]" for key in experiment.meta) or "nothing to render"
        raise InputError(f"experiment {experiment.name} has no [{name}]; it has {there}")
    return part


def _place(settings: Settings, axes: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(settings.get(axis) for axis in axes)


def _outcome(stored: Stored) -> Outcome:
    result, rounds = stored.result, [_percent(row) for row in stored.rounds]
    settings = {**settings_of(result.config), "diverged": result.status == "diverged"}
    return Outcome(settings, _percent(result.measures()), rounds, result.old, result.made)


def _percent(values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Shares in percent."""
    return {key: 100 * v if key in SHARES and v is not None else v for key, v in values.items()}
