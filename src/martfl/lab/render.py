"""From a folder of results to the table and the figure that its experiment file asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from martfl.errors import InputError
from martfl.lab.config import RunConfig
from martfl.lab.figures import draw, figure_spec
from martfl.lab.metrics import fall
from martfl.lab.store import Store
from martfl.lab.suite import Experiment, load_experiment, select, settings_of
from martfl.lab.tables import SHARES, Grid, Outcome, build_table, table_spec

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

LENGTH = frozenset({"seed", "rounds", "patience", "eval_every", "precision"})  # how long and how often, not what


@dataclass(frozen=True)
class Results:
    """An experiment with what was run of it."""

    experiment: Experiment
    plan: tuple[Mapping[str, Any], ...]  # the settings of all its runs, in the order of the file
    outcomes: tuple[Outcome, ...]
    failed: int
    everything: bool  # keep room for what was not run yet

    def shown(self, axes: tuple[str, ...]) -> list[Mapping[str, Any]]:
        """What to show: the plan as far as it was run, then what was run beyond it."""
        run, planned = ({_place(s, axes) for s in some} for some in ([o.settings for o in self.outcomes], self.plan))
        kept = [settings for settings in self.plan if self.everything or _place(settings, axes) in run]
        return [*kept, *(o.settings for o in self.outcomes if _place(o.settings, axes) not in planned)]


def load_results(path: Path, *, out: Path, only: Sequence[str] = (), everything: bool = False) -> Results:
    """The results of an experiment file in `out`; `everything` keeps room for what was not run yet."""
    experiment = load_experiment(path)
    plan = [settings_of(run) for run in select(experiment.runs, only)]
    found = [(record, store) for record, store in _records(experiment, plan, out) if _wanted(record, only)]
    failed = sum(record["status"] == "failed" for record, _ in found)
    outcomes = tuple(_outcome(record, store) for record, store in found if record["status"] != "failed")
    if not outcomes and not everything:
        raise InputError(f"no results of {path} in {out / path.stem}: run it first with `martfl lab run {path}`")
    return Results(experiment, tuple(plan), outcomes, failed, everything)


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
    if not results.failed:
        return grid
    note = f"{results.failed} runs failed and are left out; running the file again repeats them."
    return replace(grid, notes=(*grid.notes, note))


def render_figure(results: Results) -> Canvas:
    """The file's `[figure]`, drawn."""
    spec = figure_spec(_part(results.experiment, "figure"))
    axes = (*spec.panels, spec.lines, *([spec.x] if spec.kind == "lines" else []))
    check_unmixed(results.outcomes, axes)
    return draw(
        spec,
        title=results.experiment.title,
        planned=results.shown(axes),
        outcomes=results.outcomes,
        paper=results.experiment.paper or None,
    )


def check_unmixed(outcomes: Sequence[Outcome], axes: tuple[str, ...]) -> None:
    """Refuse to average runs of one seed that differ in a setting which the table or figure does not show."""
    seen: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for outcome in outcomes:
        settings = outcome.settings
        first = seen.setdefault((*_place(settings, axes), settings["seed"]), settings)
        differing = [key for key in settings if settings[key] != first.get(key) and key != "diverged"]
        if differing:
            shown = ", ".join(f"{key} = {first.get(key)} and {settings[key]}" for key in differing)
            raise InputError(f"the results mix runs of one seed with {shown}: choose with --only KEY=VALUE")


def _records(
    experiment: Experiment, plan: Sequence[Mapping[str, Any]], out: Path
) -> list[tuple[dict[str, Any], Store]]:
    """The experiment's own records, and those of experiments that it names in `also`, as far as it plans them too."""
    own = Store(out / experiment.name)
    found = {record["id"]: (record, own) for record in own.records()}
    kinds = {_kind(settings) for settings in plan}
    for other in (Store(out / name) for name in experiment.meta.get("also", ())):
        for record in other.records():
            if _kind(_settings(record)) in kinds:
                found.setdefault(record["id"], (record, other))
    return list(found.values())


def _kind(settings: Mapping[str, Any]) -> str:
    """What a run is about, whatever its seed and length."""
    return repr(sorted((key, value) for key, value in settings.items() if key not in LENGTH))


def _settings(record: Mapping[str, Any]) -> dict[str, Any]:
    return {**record["config"], "rule": record["name"], "threat": RunConfig(**record["config"]).threat}


def _part(experiment: Experiment, name: str) -> Mapping[str, Any]:
    part = experiment.meta.get(name)
    if not isinstance(part, dict):
        there = ", ".join(f"[{key}]" for key in experiment.meta) or "nothing to render"
        raise InputError(f"experiment {experiment.name} has no [{name}]; it has {there}")
    return part


def _place(settings: Mapping[str, Any], axes: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(settings.get(axis) for axis in axes)


def _wanted(record: Mapping[str, Any], only: Sequence[str]) -> bool:
    return bool(select([RunConfig(**record["config"])], only))


def _outcome(record: Mapping[str, Any], store: Store) -> Outcome:
    settings = {**_settings(record), "diverged": record["status"] == "diverged"}
    rounds = [_percent(row) for row in store.read_rounds(record["id"])]
    fallen = fall([(int(row["round"] or 0), mta) for row in rounds if (mta := row.get("mta")) is not None])
    return Outcome(settings, _percent(record) | {"fall": fallen}, rounds)


def _percent(values: Mapping[str, Any]) -> dict[str, float | None]:
    """The numbers among the values, shares in percent."""
    numbers = {key: value for key, value in values.items() if value is None or isinstance(value, (int, float))}
    return {key: 100 * v if key in SHARES and v is not None else v for key, v in numbers.items()}
