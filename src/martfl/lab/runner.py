"""Running many: finished runs are skipped, interrupted ones continue, a failed one does not stop the others."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import torch

from martfl.errors import InputError
from martfl.lab.config import RunConfig
from martfl.lab.experiment import Runtime, run_experiment
from martfl.lab.metrics import RoundRow
from martfl.lab.store import Store, to_record
from martfl.lab.suite import check_runs, describe


class Listener:
    """Told what happens; shows nothing by itself."""

    def begin(self, *, total: int, skipped: int) -> None: ...

    def start(self, config: RunConfig) -> None: ...

    def round(self, config: RunConfig, row: RoundRow) -> None: ...

    def done(self, record: dict[str, Any]) -> None: ...


def run_all(
    runs: Sequence[RunConfig],
    *,
    folder: Path,
    runtime: Runtime = Runtime(),
    jobs: int = 1,
    listener: Listener | None = None,
) -> list[dict[str, Any]]:
    """Run what is not finished yet; returns the records of all runs asked for, in their order."""
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    check_runs(runs)
    told = listener or Listener()
    store = Store(folder)
    finished = store.finished()
    left = [run for run in runs if run.identity() not in finished]
    told.begin(total=len(left), skipped=len(runs) - len(left))
    for record in _serial(left, store, runtime, told) if jobs == 1 else _parallel(left, store, runtime, jobs):
        store.append(record)
        store.checkpoint(record["id"]).unlink(missing_ok=True)
        told.done(record)
    by_id = {record["id"]: record for record in store.records()}
    return [{**by_id[run.identity()], "name": run.name} for run in runs if run.identity() in by_id]


def run_one(config: RunConfig, store: Store, runtime: Runtime, listener: Listener | None = None) -> dict[str, Any]:
    """One run to its record; an error becomes a record with the status `failed`."""
    told = listener or Listener()
    told.start(config)
    run = config.identity()
    try:
        result = run_experiment(
            config, runtime=runtime, checkpoint=store.checkpoint(run), on_round=lambda row: told.round(config, row)
        )
    except Exception as error:  # one broken run must not take the others with it
        message = f"{type(error).__name__}: {error}"
        return {"id": run, "name": config.name, "status": "failed", "error": message, "seed": config.seed,
                "config": dataclasses.asdict(config.filled())}  # fmt: skip
    store.write_rounds(run, result.history)
    return to_record(result)


def _serial(runs: Sequence[RunConfig], store: Store, runtime: Runtime, told: Listener) -> Iterator[dict[str, Any]]:
    for config in runs:
        yield run_one(config, store, runtime, told)


def _parallel(runs: Sequence[RunConfig], store: Store, runtime: Runtime, jobs: int) -> Iterator[dict[str, Any]]:
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


def label_of(record: dict[str, Any]) -> str:
    """A finished run in a few words."""
    config = RunConfig(**record["config"])
    return describe(config)
