"""Running many: finished runs are skipped, interrupted ones continue, a failed one does not stop the others."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from martfl.errors import InputError
from martfl.lab.config import RunConfig
from martfl.lab.experiment import Runtime
from martfl.lab.result import RunResult
from martfl.lab.store import Store
from martfl.lab.suite import check_runs
from martfl.lab.workers import Done, Job, Listener, Work, here, processes


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
    listener: Listener | None = None,
) -> list[RunResult]:
    """Run what the folder does not hold yet, or holds from older code; the results of all, in their order."""
    run_jobs([Job(folder, run) for run in runs], runtime=runtime, workers=workers, listener=listener)
    by_id = {record.id: record for record in Store(folder).records()}
    return [_named(by_id[run.identity()], run) for run in runs if run.identity() in by_id]


def run_jobs(
    jobs: Sequence[Job], *, runtime: Runtime = Runtime(), workers: Workers = Workers(), listener: Listener | None = None
) -> None:
    """Run the jobs that are not done yet, whatever folders they are for."""
    work, told = workers.work(), listener or Listener()
    check_runs(job.config for job in jobs)
    left = unfinished(jobs)
    told.begin(total=len(left), skipped=len(jobs) - len(left))
    if left:
        collect(work(left, runtime, told), told)


def unfinished(jobs: Sequence[Job]) -> list[Job]:
    """Those whose folders hold no result of the present code, each run once."""
    finished = {folder: Store(folder).finished() for folder in {job.folder for job in jobs}}
    left = {(job.folder, job.config.identity()): job for job in reversed(jobs)}
    return [job for place, job in reversed(left.items()) if place[1] not in finished[job.folder]]


def collect(work: Iterable[Done], told: Listener) -> None:
    """Keep every result as it comes; an interruption leaves those that have come."""
    touched: set[Path] = set()
    try:
        for job, result in work:
            Store(job.folder).append(result)
            job.checkpoint(result.key).unlink(missing_ok=True)
            touched.add(job.folder)
            told.done(result)
    finally:
        for folder in touched:
            Store(folder).compact()


def _named(result: RunResult, config: RunConfig) -> RunResult:
    """The same under the name that this plan gives it."""
    return dataclasses.replace(result, config=dataclasses.replace(result.config, label=config.label))
