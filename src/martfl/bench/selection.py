"""How long a selection takes."""

from dataclasses import dataclass

import numpy as np

from martfl.errors import InputError
from martfl.measure import timed
from martfl.selection import select


@dataclass(frozen=True)
class SelectionBench:
    """Median seconds of `select` by number of providers."""

    repeats: int
    seconds: dict[int, float]


def bench_selection(*, providers: tuple[int, ...] = (30, 1000), repeats: int = 5) -> SelectionBench:
    """Time `select` for each number of providers, on scores of three groups."""
    if min(providers, default=0) < 1:
        raise InputError(f"providers must be numbers of at least 1, got {', '.join(map(str, providers)) or 'none'}")
    return SelectionBench(repeats, {n: _median(n, repeats) for n in providers})


def _median(providers: int, repeats: int) -> float:
    rng = np.random.default_rng(0)
    scores = np.clip(rng.choice([0.1, 0.5, 0.8], providers) + rng.normal(0, 0.03, providers), -1, 1)
    return float(np.median([timed(lambda: select(scores, rng=rng)).wall_s for _ in range(repeats)]))
