"""Clocks and memory for benchmarks."""

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Timed(Generic[T]):
    """A result with the wall-clock and CPU seconds (all threads) that it took."""

    value: T
    wall_s: float
    cpu_s: float


def timed(work: Callable[[], T]) -> Timed[T]:
    """Run `work` once and time it."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = work()
    return Timed(value, time.perf_counter() - wall, time.process_time() - cpu)


def peak_mb() -> float:
    """The largest resident set of this process so far, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux `ru_maxrss` is at least that of the process which started this one
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
