"""Who runs the runs: this process, several processes of this machine, or a Ray cluster (`cluster`).

Each takes jobs in their order and hands their results back as they come. After `until`, no further job is begun.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

import torch

from martfl.lab.config import RunConfig
from martfl.lab.experiment import run_twins
from martfl.lab.metrics import RoundRow
from martfl.lab.provenance import UNKNOWN
from martfl.lab.result import RunResult, key_of
from martfl.lab.runtime import Runtime


@dataclass(frozen=True)
class Job:
    """A run, the folder that its result is for, and others in which a result of it would do."""

    folder: Path
    config: RunConfig
    also: tuple[Path, ...] = ()
    twins: tuple[Job, ...] = ()  # that are made with it

    @property
    def all(self) -> tuple[Job, ...]:
        return (self, *self.twins)

    def checkpoint(self, key: str) -> Path:
        """Where it keeps its progress."""
        return self.folder / "checkpoints" / f"{key}.pt"


class RunListener:
    """Told what happens; shows nothing by itself."""

    def begin(self, *, total: int, skipped: int) -> None: ...

    def start(self, config: RunConfig) -> None: ...

    def round(self, config: RunConfig, row: RoundRow) -> None: ...

    def done(self, result: RunResult) -> None: ...


Done = tuple[Job, list[RunResult]]  # of the job and its twins
Work = Callable[[Sequence[Job], Runtime, RunListener], Iterator[Done]]


def run_job(job: Job, runtime: Runtime, listener: RunListener | None = None, *, resume: bool = True) -> list[RunResult]:
    """A run and its twins to their results; an error becomes results with the status `failed`."""
    told = listener or RunListener()
    told.start(job.config)
    try:
        return run_twins(
            [one.config for one in job.all],
            runtime=runtime,
            checkpoints=job.checkpoint if resume else None,
            on_round=lambda row: told.round(job.config, row),
        )
    except Exception as error:  # one broken run must not take the others with it
        return failed(job, error)


def failed(job: Job, error: Exception) -> list[RunResult]:
    """Of a job that raised."""
    message, configs = f"{type(error).__name__}: {error}", [one.config for one in job.all]
    return [RunResult(one.filled(), "failed", key=key_of(one, UNKNOWN), error=message) for one in configs]


def in_time(until: float | None) -> bool:
    """Whether another run may begin."""
    return until is None or time.monotonic() < until


def here(until: float | None = None) -> Work:
    """One after another in this process."""

    def work(jobs: Sequence[Job], runtime: Runtime, told: RunListener) -> Iterator[Done]:
        for job in jobs:
            if not in_time(until):
                return
            yield job, run_job(job, runtime, told)

    return work


def processes(count: int, until: float | None = None) -> Work:
    """Several processes side by side, on one GPU or on the cores; each has its part of the memory and of the cores."""

    def work(jobs: Sequence[Job], runtime: Runtime, told: RunListener) -> Iterator[Done]:
        cores = max(1, len(os.sched_getaffinity(0)) // count)
        shared = dataclasses.replace(runtime, memory_share=1 / count, workers=runtime.workers or cores)
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(count, mp_context=context, initializer=torch.set_num_threads, initargs=(cores,))
        left, running = iter(jobs), dict[Future[list[RunResult]], Job]()
        try:
            while _begin(pool, left, running, count, shared, until):
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    job = running.pop(future)
                    _begin(pool, left, running, count, shared, until)  # before the result is kept, which takes a while
                    yield job, future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    return work


def _begin(
    pool: ProcessPoolExecutor,
    left: Iterator[Job],
    running: dict[Future[list[RunResult]], Job],
    count: int,
    runtime: Runtime,
    until: float | None,
) -> bool:
    """Keep every process busy; whether anything runs."""
    while len(running) < count and in_time(until) and (job := next(left, None)) is not None:
        running[pool.submit(run_job, job, runtime)] = job
    return bool(running)
