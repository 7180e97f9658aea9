"""Can attackers be told from honest sellers at all, by what a buyer can compute?

A classifier is told who they were in other divisions of the same data. Where even that fails, and every feature by
itself, there is little for a rule to find; where it succeeds, its features say what a rule could look at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from martfl.bench.separation.markets import all_divisions, watch_all
from martfl.bench.separation.told import Told, tell_apart
from martfl.errors import InputError
from martfl.lab.runtime import Runtime


def bench_separation(
    *,
    datasets: Sequence[str] = ("digits",),
    cases: Sequence[str] = ("backdoor",),
    seeds: Sequence[int] = (20, 21, 22, 23),
    epochs: int = 0,
    mean: str = "honest",
    without: str = "",
    out: Path | None = None,
    runtime: Runtime = Runtime(),
    tell: Callable[[str], None] = lambda line: None,
) -> list[Told]:
    """One finding per market."""
    if len(set(seeds)) < 2:
        raise InputError(f"a classifier that is told of other divisions needs two seeds, got {len(set(seeds))}")
    all_divisions(datasets, cases, seeds, epochs=epochs, mean=mean)  # refuses wrong names before anything trains
    return [
        tell_apart(watch_all(market, runtime, out=out, tell=tell), without=without)
        for market in (
            all_divisions([dataset], [case], seeds, epochs=epochs, mean=mean) for dataset in datasets for case in cases
        )
    ]
