"""The same grid on many machines: one task a run on a Ray cluster, results kept by the driver. Needs `martfl[ray]`.

The cluster's machines run the driver's copy of this package, so that their results name its revision; they need its
libraries and the datasets, in the folder that `--data` names or their own MARTFL_DATA. A run whose worker is lost is
tried again by Ray; what has come back stays, whatever happens to the rest.
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
import socket
from collections.abc import Iterator, Sequence
from types import ModuleType

import martfl
from martfl.errors import InputError
from martfl.lab.result import RunResult
from martfl.lab.runtime import Runtime
from martfl.lab.workers import Done, Job, RunListener, Work, failed, in_time, run_job

TRIES = 5  # of a run whose worker dies under it
WAIT = 10  # seconds, for the cluster to answer
AHEAD = 2  # runs that wait for every one that fits, so that no machine waits for the driver


def on_ray(address: str, *, gpus: float = 1.0, until: float | None = None) -> Work:
    """Work for the cluster at `address` (`auto` finds one on this machine); `gpus` may be a fraction."""
    if not gpus > 0:
        raise InputError(f"a run needs a positive number of GPUs or a fraction, got {gpus}")

    def work(jobs: Sequence[Job], runtime: Runtime, told: RunListener) -> Iterator[Done]:
        ray = _connect(address)
        try:
            yield from _drive(ray, jobs, runtime, gpus if runtime.device.startswith("cuda") else 0.0, until)
        finally:
            ray.shutdown()  # what still runs ends with the driver

    return work


def _connect(address: str) -> ModuleType:
    try:
        import ray
    except ImportError:
        raise InputError("--ray needs the extra: pip install 'martfl[ray]'") from None
    _knock(address)
    try:
        code = {"py_modules": [martfl.__path__[0]]}
        ray.init(address=address, runtime_env=code, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"no Ray cluster at {address}: {error}") from None
    return ray


def _knock(address: str) -> None:
    """Ray itself waits for minutes for a machine that does not answer."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        return  # `auto`, `local`
    try:
        socket.create_connection((host, int(port)), timeout=WAIT).close()
    except OSError as error:
        raise InputError(f"no Ray cluster at {address}: {error}") from None


def _drive(ray: ModuleType, jobs: Sequence[Job], runtime: Runtime, gpus: float, until: float | None) -> Iterator[Done]:
    """Keep a few runs more in flight than the cluster has room for."""
    shared = dataclasses.replace(runtime, memory_share=min(1.0, gpus) if gpus else 1.0, workers=runtime.workers or 1)
    task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=TRIES)(_remote)
    left, running = iter(jobs), dict[object, Job]()
    while True:
        room = AHEAD * _slots(ray, gpus) - len(running)
        for job in itertools.islice(left, max(0, room) if in_time(until) else 0):
            running[task.remote(job, shared)] = job
        if not running:
            return
        ready, _ = ray.wait(list(running), num_returns=1, timeout=10)
        for reference in ready:
            job = running.pop(reference)
            yield job, _result(ray, reference, job)


def _slots(ray: ModuleType, gpus: float) -> int:
    """Runs that the cluster has room for at the moment; machines come and go."""
    there = ray.cluster_resources()
    rooms = [there.get("CPU", 0.0), *([there.get("GPU", 0.0) / gpus] if gpus else [])]
    return max(1, int(min(rooms)))


def _remote(job: Job, runtime: Runtime) -> list[RunResult]:
    """On a machine of the cluster; nothing is kept there."""
    return run_job(job, runtime, resume=False)


def _result(ray: ModuleType, reference: object, job: Job) -> list[RunResult]:
    """What came back; a run that killed its worker again and again has failed."""
    try:
        results: list[RunResult] = ray.get(reference)
    except ray.exceptions.RayError as error:
        return failed(job, error)
    return results
