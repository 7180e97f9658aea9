"""Which experiments to run in which order, with an estimate of how long each takes: a plan file.

[pace]          seconds a round on the plan's machine with its number of jobs, by dataset
[slower]        how many times longer a round of a rule takes
[[step]]        file, and which of its runs (`only`), the most important ones first
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from martfl.errors import InputError
from martfl.lab.config import RunConfig
from martfl.lab.runner import training_of, unfinished
from martfl.lab.suite import load_experiment, read_toml, select
from martfl.lab.workers import Job
from martfl.values import Settings


@dataclass(frozen=True)
class PlanStep:
    """Some runs of one experiment."""

    name: str
    only: tuple[str, ...]
    why: str
    jobs: tuple[Job, ...]
    done: int
    left: tuple[Job, ...]  # those that are not done, and that no step before has
    seconds: float  # of what is left, by the plan's pace; runs that train alike count once

    @property
    def title(self) -> str:
        return " ".join([self.name, *self.only])


@dataclass(frozen=True)
class ExperimentPlan:
    """A machine's plan."""

    title: str
    steps: tuple[PlanStep, ...]

    def jobs(self) -> list[Job]:
        """What is left, in order."""
        return [job for step in self.steps for job in step.left]


def load_plan(path: Path, *, out: Path, experiments: Path | None = None) -> ExperimentPlan:
    """Read a plan beside its experiments (the folder above its own), and what of it is done in `out`."""
    content = read_toml(path, what="plan")
    folder = experiments or path.resolve().parent.parent
    steps: list[PlanStep] = []
    taken: set[tuple[Path, str]] = set()
    trained: set[str] = set()
    for part in content.get("step", ()):
        if set(part) - {"file", "only", "why"} or "file" not in part:
            raise InputError(f"{path}: a step has a file, and may have only and why; got {sorted(part)}")
        step = _step(part, folder, out, content, taken, trained)
        trained |= {training_of(job.config) for job in step.left}
        taken |= {(job.folder, job.config.identity()) for job in step.jobs}
        steps.append(step)
    return ExperimentPlan(str(content.get("title", path.stem)), tuple(steps))


def _step(
    part: Settings, folder: Path, out: Path, content: Settings, taken: set[tuple[Path, str]], trained: set[str]
) -> PlanStep:
    experiment = load_experiment(folder / f"{part['file']}.toml")
    only = tuple(part.get("only", ()))
    also = tuple(out / name for name in experiment.meta.get("also", ()))
    jobs = tuple(Job(out / experiment.name, run, also) for run in select(experiment.runs, only))
    if not jobs:
        raise InputError(f"no run of {part['file']} matches {' '.join(only)}")
    open_ = unfinished(jobs)
    left = tuple(job for job in open_ if not _places(job) & taken)
    pace, slower = content.get("pace", {}), content.get("slower", {})
    once = {training_of(job.config): job.config for job in left}
    seconds = sum(_estimate(run, pace, slower) for training, run in once.items() if training not in trained)
    return PlanStep(part["file"], only, part.get("why", ""), jobs, len(jobs) - len(open_), left, seconds)


def _places(job: Job) -> set[tuple[Path, str]]:
    return {(folder, job.config.identity()) for folder in (job.folder, *job.also)}


def _estimate(config: RunConfig, pace: Mapping[str, float], slower: Mapping[str, float]) -> float:
    if config.dataset not in pace:
        raise InputError(f"the plan has no pace for {config.dataset}: it has {', '.join(pace)}")
    return config.rounds * pace[config.dataset] * slower.get(config.rule, 1.0)


@dataclass(frozen=True)
class Row:
    """A step as a line of the overview."""

    step: str
    done: int
    runs: int
    seconds: float  # left
    total: float  # left up to here


def overview(plan: ExperimentPlan) -> list[Row]:
    """A line a step."""
    rows, total = [], 0.0
    for step in plan.steps:
        total += step.seconds
        rows.append(Row(step.title, step.done, len(step.jobs), step.seconds, total))
    return rows


def as_text(rows: Sequence[Row]) -> str:
    """For machines without more than a terminal."""
    return "\n".join(f"{r.done:4}/{r.runs:<4} {r.seconds:7.0f} s {r.total:7.0f} s  {r.step}" for r in rows)
