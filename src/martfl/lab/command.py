"""What `martfl lab run` and `python -m martfl.lab run` share."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from martfl.errors import InputError
from martfl.lab.config import RunConfig, make_config
from martfl.lab.result import RunResult
from martfl.lab.runner import Workers, run_all
from martfl.lab.runtime import Runtime
from martfl.lab.suite import load_experiment, select
from martfl.lab.workers import RunListener
from martfl.values import Json, Settings

SINGLE = "single"  # the folder of runs that come from no file


@dataclass(frozen=True)
class Request:
    """A command line, taken apart."""

    file: Path | None = None
    settings: Settings = field(default_factory=dict)  # override the file's, or make a single run
    seeds: tuple[int, ...] = ()
    only: tuple[str, ...] = ()
    out: Path = Path("runs")
    runtime: Runtime = field(default_factory=Runtime)
    workers: Workers = field(default_factory=Workers)


def parse_settings(pairs: Sequence[str]) -> Json:
    """KEY=VALUE with the value as TOML, or as plain text where it is none."""
    found: Json = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign:
            raise InputError(f"--set takes KEY=VALUE, got {pair!r}")
        try:
            found[key.strip().replace("-", "_")] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            found[key.strip().replace("-", "_")] = text
    return found


def parse_seeds(text: str) -> tuple[int, ...]:
    """Numbers separated by commas."""
    try:
        return tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError:
        raise InputError(f"--seeds takes whole numbers separated by commas, got {text!r}") from None


@dataclass(frozen=True)
class Planned:
    """What a request is about."""

    folder: Path
    runs: tuple[RunConfig, ...]
    also: tuple[Path, ...] = ()  # other folders whose results count


def planned_runs(request: Request) -> Planned:
    """The runs of the request, and where their results go."""
    if request.file is None:
        if request.only:
            raise InputError(f"--only chooses among the runs of a file; got {' '.join(request.only)} and no file")
        seeds = request.seeds or (int(request.settings.get("seed", 0)),)
        runs = tuple(make_config({**request.settings, "seed": seed}) for seed in seeds)
        return Planned(request.out / SINGLE, runs)
    experiment = load_experiment(request.file, overrides=request.settings, seeds=request.seeds)
    runs = select(experiment.runs, request.only)
    if not runs:
        raise InputError(f"no run of {request.file} matches --only {' '.join(request.only)}")
    also = tuple(request.out / name for name in experiment.meta.get("also", ()))
    return Planned(request.out / experiment.name, runs, also)


def execute(request: Request, listener: RunListener | None = None) -> list[RunResult]:
    """Run what was asked for and return the results."""
    planned = planned_runs(request)
    return run_all(
        planned.runs,
        folder=planned.folder,
        runtime=request.runtime,
        workers=request.workers,
        listener=listener,
        also=planned.also,
    )
