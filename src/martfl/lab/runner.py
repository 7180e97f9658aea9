"""Running many: finished runs are skipped, interrupted ones continue, a failed one does not stop the others."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from martfl.errors import InputError
from martfl.lab.config import RunConfig
from martfl.lab.result import RunResult, key_of_all
from martfl.lab.rules import make_rule
from martfl.lab.runtime import Runtime
from martfl.lab.store import Store
from martfl.lab.suite import check_runs
from martfl.lab.workers import Done, Job, RunListener, Work, here, processes


@dataclasses.dataclass(frozen=True)
class Workers:
    """Where runs are made."""

    jobs: int = 1  # processes of this machine
    ray: str | None = None  # the address of a Ray cluster
    gpus: float = 1.0  # of each run on a cluster, where it runs on GPUs
    seconds: float | None = None  # after which no further run is begun

    def work(self) -> Work:
        """What runs them."""
        if self.jobs < 1:
            raise InputError(f"jobs must be at least 1, got {self.jobs}")
        until = None if self.seconds is None else time.monotonic() + self.seconds
        if self.ray is not None:
            from martfl.lab.cluster import on_ray

            return on_ray(self.ray, gpus=self.gpus, until=until)
        return here(until) if self.jobs == 1 else processes(self.jobs, until)


def run_all(
    runs: Sequence[RunConfig],
    *,
    folder: Path,
    runtime: Runtime = Runtime(),
    workers: Workers = Workers(),
    listener: RunListener | None = None,
    also: Sequence[Path] = (),
) -> list[RunResult]:
    """Run what the folder, and `also` others, do not hold yet, or hold from older code; all results in their order."""
    jobs = [Job(folder, run, tuple(also)) for run in runs]
    run_jobs(jobs, runtime=runtime, workers=workers, listener=listener)
    known = [record for place in (*also, folder) for record in Store(place).records()]
    by_id = {record.id: record for record in sorted(known, key=lambda record: not record.old)}  # the last one counts
    return [_named(by_id[run.identity()], run) for run in runs if run.identity() in by_id]


def run_jobs(
    jobs: Sequence[Job],
    *,
    runtime: Runtime = Runtime(),
    workers: Workers = Workers(),
    listener: RunListener | None = None,
) -> None:
    """Run the jobs that are not done yet, whatever folders they are for."""
    work, told = workers.work(), listener or RunListener()
    check_runs(job.config for job in jobs)
    left = unfinished(jobs)
    told.begin(total=len(left), skipped=len(jobs) - len(left))
    if left:
        collect(work(with_twins(left), runtime, told), told)


def unfinished(jobs: Sequence[Job]) -> list[Job]:
    """Those whose folders hold no result of the present code, each run once."""
    folders = {folder for job in jobs for folder in (job.folder, *job.also)}
    finished = {folder: Store(folder).finished() for folder in folders}
    left: dict[tuple[Path, str], Job] = {}
    for job in jobs:
        run = job.config.identity()
        if not any(run in finished[folder] for folder in (job.folder, *job.also)):
            left.setdefault((job.folder, run), job)
    return list(left.values())


def with_twins(jobs: Sequence[Job]) -> list[Job]:
    """The same with runs that train alike as one: a rule that looks at no attacker trains alike under all attacks."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(training_of(job.config), []).append(job)
    return [dataclasses.replace(first, twins=tuple(twins)) for first, *twins in groups.values()]


def training_of(config: RunConfig) -> str:
    """What a run trains on, in a text; that of a rule that looks at attackers names the attack."""
    plain = dataclasses.replace(config.filled(), label="")
    if make_rule(config.rule, **config.rule_params).honest_only:
        plain = dataclasses.replace(plain, attack="", attack_params={})
    return repr(plain)


def collect(work: Iterable[Done], told: RunListener) -> None:
    """Keep every result as it comes; an interruption leaves those that have come."""
    touched: set[Path] = set()
    try:
        for job, results in work:
            for one, result in zip(job.all, results, strict=True):
                Store(one.folder).append(result)
                touched.add(one.folder)
                told.done(result)
            job.checkpoint(
                key_of_all([result.config for result in results], [result.made for result in results])
            ).unlink(missing_ok=True)
    finally:
        for folder in touched:
            Store(folder).compact()


def _named(result: RunResult, config: RunConfig) -> RunResult:
    """The same under the name that this plan gives it."""
    return dataclasses.replace(result, config=dataclasses.replace(result.config, label=config.label))
