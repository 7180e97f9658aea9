"""Experiment files: TOML in, a list of runs out.

`[run]` holds the settings that all runs share; `[grid]` holds lists that are crossed, and there may be several, written
`[[grid]]`, whose runs follow one another. An axis named like a setting takes its values; any other axis takes tables of
settings that belong together. Whatever else the file holds is kept for those who render it.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from martfl.errors import InputError
from martfl.lab.config import KEYS, RunConfig, make_config
from martfl.lab.setup import check_run
from martfl.values import Json, Settings


@dataclass(frozen=True)
class Experiment:
    """A file's runs, in the order of its grid."""

    name: str  # the file's name without its ending
    title: str
    paper: str
    runs: tuple[RunConfig, ...]
    meta: Settings = field(default_factory=dict)  # the rest of the file


def read_toml(path: Path, *, what: str) -> Settings:
    """The content of a TOML file; an error says what it should have been."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"no {what} {path}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from None


def load_experiment(path: Path, *, overrides: Settings | None = None, seeds: Sequence[int] | None = None) -> Experiment:
    """Read and check a file; `overrides` replace settings and axes of the same name, `seeds` the axis of seeds."""
    content = read_toml(path, what="experiment file")
    base = _part(content.get("run", {}), "run", path)
    grids = content.get("grid", {})
    runs: dict[str, RunConfig] = {}
    for grid in grids if isinstance(grids, list) and grids else [grids]:
        axes = {axis: v for axis, v in _part(grid, "grid", path).items() if axis not in (overrides or {})}
        if seeds:
            base.pop("seed", None)
            axes["seed"] = list(seeds)
        runs |= {run.identity() + run.label: run for run in expand(base, axes, overrides or {})}
    meta = {key: value for key, value in content.items() if key not in ("run", "grid", "title", "paper")}
    title, paper = str(content.get("title", path.stem)), str(content.get("paper", ""))
    return Experiment(path.stem, title, paper, tuple(runs.values()), meta)


def _part(part: object, name: str, path: Path) -> Json:
    if not isinstance(part, dict):
        raise InputError(f"{path}: [{name}] must be a table, got {part!r}")
    return {key.replace("-", "_"): value for key, value in part.items()}


def expand(base: Settings, grid: Settings, overrides: Settings | None = None) -> tuple[RunConfig, ...]:
    """All combinations of the grid's axes over the shared settings; the last axis changes fastest, overrides win."""
    axes = [[_cell(axis, value) for value in _values(axis, values)] for axis, values in grid.items()]
    runs: dict[str, RunConfig] = {}
    for cells in itertools.product(*axes):
        merged = dict(base)
        for cell in cells:
            merged.update(cell)
        merged.update(overrides or {})
        config = make_config(merged)
        runs.setdefault(config.identity() + config.label, config)
    return tuple(runs.values())


def _values(axis: str, values: object) -> list[object]:
    if not isinstance(values, list) or not values:
        raise InputError(f"[grid] {axis} must be a list that is not empty, got {values!r}")
    return values


def _cell(axis: str, value: object) -> Json:
    if axis in KEYS:
        return {axis: value}
    if not isinstance(value, dict):
        raise InputError(f"[grid] {axis} is no setting, so its values must be tables of settings; got {value!r}")
    return {key.replace("-", "_"): entry for key, entry in value.items()}


def settings_of(config: RunConfig) -> Json:
    """A run's settings with the rule by its label and the attack with its parameters, as tables name them."""
    full = config.filled()
    return {**{key: getattr(full, key) for key in KEYS}, "rule": config.name, "threat": config.threat}


def select(runs: Iterable[RunConfig], only: Sequence[str]) -> tuple[RunConfig, ...]:
    """The runs that match every `key=value`; several values of one key are alternatives."""
    wanted: dict[str, set[str]] = {}
    for term in only:
        key, sign, value = term.partition("=")
        key = key.strip().replace("-", "_")
        if not sign or key not in {*KEYS, "threat"}:
            raise InputError(f"--only takes KEY=VALUE with a setting as its key, got {term!r}")
        wanted.setdefault(key, set()).update(_plain(part) for part in value.split(","))
    return tuple(run for run in runs if all(_matches(run, key, values) for key, values in wanted.items()))


def _matches(run: RunConfig, key: str, values: set[str]) -> bool:
    names = {run.rule, run.name} if key == "rule" else {getattr(run if key == "threat" else run.filled(), key)}
    return bool({_plain(name) for name in names} & values)


def _plain(value: object) -> str:
    """Numbers by value (0.30 is 0.3), everything else by its text."""
    text = str(value).strip()
    try:
        return repr(float(text))
    except ValueError:
        return text


def check_runs(runs: Iterable[RunConfig]) -> None:
    """Refuse impossible combinations before anything trains, naming the run."""
    for run in runs:
        try:
            check_run(run)
        except InputError as error:
            raise InputError(f"{describe(run)}: {error}") from None


def describe(config: RunConfig) -> str:
    """A run in a few words."""
    parts = [config.dataset, config.name]
    if config.attack != "none":
        parts.append(f"{config.attack} {config.malicious:.0%}")
    if config.biased:
        parts.append(f"biased {config.biased:.0%}")
    return " · ".join([*parts, f"seed {config.seed}"])
