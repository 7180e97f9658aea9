"""Running many: finished runs are skipped, interrupted ones continue, a failed one does not stop the others."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import torch

from martfl.errors import InputError
from martfl.lab.config import RunConfig
from martfl.lab.experiment import Runtime, run_experiment
from martfl.lab.metrics import RoundRow
from martfl.lab.provenance import UNKNOWN
from martfl.lab.result import RunResult, key_of
from martfl.lab.store import Store
from martfl.lab.suite import check_runs


class Listener:
    """Told what happens; shows nothing by itself."""

    def begin(self, *, total: int, skipped: int) -> None: ...

    def start(self, config: RunConfig) -> None: ...

    def round(self, config: RunConfig, row: RoundRow) -> None: ...

    def done(self, result: RunResult) -> None: ...


def run_all(
    runs: Sequence[RunConfig],
    *,
    folder: Path,
    runtime: Runtime = Runtime(),
    jobs: int = 1,
    listener: Listener | None = None,
) -> list[RunResult]:
    """Run what the folder does not hold yet, or holds from older code; the results of all, in their order."""
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    check_runs(runs)
    told = listener or Listener()
    store = Store(folder)
    finished = store.finished()
    left = [run for run in runs if run.identity() not in finished]
    told.begin(total=len(left), skipped=len(runs) - len(left))
    work = _serial(left, store, runtime, told) if jobs == 1 else _parallel(left, store, runtime, jobs)
    collect(work, store, told)
    by_id = {record.id: record for record in store.records()}
    return [_named(by_id[run.identity()], run) for run in runs if run.identity() in by_id]


def collect(work: Iterator[RunResult], store: Store, told: Listener) -> None:
    """Keep every result as it comes; an interruption leaves those that have come."""
    kept = 0
    try:
        for result in work:
            store.append(result)
            store.checkpoint(result.key).unlink(missing_ok=True)
            kept += 1
            told.done(result)
    finally:
        if kept:
            store.compact()


def run_one(config: RunConfig, store: Store, runtime: Runtime, listener: Listener | None = None) -> RunResult:
    """One run to its result; an error becomes one with the status `failed`."""
    told = listener or Listener()
    told.start(config)
    try:
        return run_experiment(
            config, runtime=runtime, checkpoints=store.checkpoint, on_round=lambda row: told.round(config, row)
        )
    except Exception as error:  # one broken run must not take the others with it
        return failed(config, error)


def failed(config: RunConfig, error: Exception) -> RunResult:
    """A run that raised."""
    message = f"{type(error).__name__}: {error}"
    return RunResult(config.filled(), "failed", key=key_of(config, UNKNOWN), error=message)


def _named(result: RunResult, config: RunConfig) -> RunResult:
    """The same under the name that this plan gives it."""
    return dataclasses.replace(result, config=dataclasses.replace(result.config, label=config.label))


def _serial(runs: Sequence[RunConfig], store: Store, runtime: Runtime, told: Listener) -> Iterator[RunResult]:
    for config in runs:
        yield run_one(config, store, runtime, told)


def _parallel(runs: Sequence[RunConfig], store: Store, runtime: Runtime, jobs: int) -> Iterator[RunResult]:
    """Several processes side by side, on one GPU or on the cores; each has its part of the memory and of the cores."""
    cores = max(1, len(os.sched_getaffinity(0)) // jobs)
    shared = dataclasses.replace(runtime, memory_share=1 / jobs, workers=runtime.workers or cores)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=torch.set_num_threads, initargs=(cores,)) as pool:
        waiting = [pool.submit(run_one, config, store, shared) for config in runs]
        try:
            for job in as_completed(waiting):
                yield job.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
