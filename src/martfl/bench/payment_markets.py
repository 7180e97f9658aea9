"""`python -m martfl.bench.payment_markets`: payments of larger markets, a JSON line each; torch and numpy are enough.

Every market is run by each way to pay that is named as its driver: its weights make the model. Markets that the file
holds already are skipped, so that what was interrupted goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, astuple, dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

from martfl.bench.payment import CHEATS, NEUTRAL, honest, noisy, spearman, steadiness
from martfl.bench.payment_kept import ALIKE, EQUAL, LABELS, OURS, RIVALS, SIZES, TRICKS, PaidMarket, read_kept
from martfl.errors import InputError, MartflError
from martfl.lab.config import make_config
from martfl.lab.payment.market import Paid, make_market, run_market
from martfl.lab.runtime import Runtime
from martfl.lab.valuers import make_valuer

DIGITS = 4
PRECISION = {"cpu": "fp32", "cuda": "tf32"}


@dataclass(frozen=True)
class MarketJob:
    """One market to run."""

    dataset: str
    market: str
    driver: str
    seed: int
    rounds: int


def all_jobs(datasets: Sequence[str], seeds: Sequence[int], rounds: int) -> list[MarketJob]:
    """Fairness and accuracy of every seed, tricks of the first one, the first seed of everything first.

    Examples:
        >>> [f"{job.market}/{job.driver}" for job in all_jobs(["trec"], [11], 15)][:3]
        ['size/information', 'size/equal', 'noise/information']
    """
    pairs = [(market, driver) for market in (SIZES, LABELS, ALIKE) for driver in (OURS, EQUAL)]
    tricks = [(trick, NEUTRAL) for trick in TRICKS]
    order = [(seed, *pair) for i, seed in enumerate(seeds) for pair in (pairs if i else [*pairs, *tricks])]
    return [MarketJob(dataset, market, driver, seed, rounds) for seed, market, driver in order for dataset in datasets]


def run_job(job: MarketJob, runtime: Runtime) -> PaidMarket:
    """The market, paid by every way that its kind asks for."""
    torch.set_num_threads(1)
    settings = {"dataset": job.dataset, "rule": "evidence", "seed": job.seed, "rounds": job.rounds}
    sizes = {"sizes": "pow"} if job.market == SIZES else {}
    config = make_config({**settings, **sizes, "precision": PRECISION[runtime.device]})
    make = {SIZES: honest, ALIKE: honest, LABELS: noisy}.get(job.market) or CHEATS[job.market]
    rivals = RIVALS if job.driver == OURS and job.market in (SIZES, LABELS) else ()
    names = list(dict.fromkeys([OURS, EQUAL, NEUTRAL, *rivals]))
    paid = run_market(make_market(config, make, runtime), {n: make_valuer(n) for n in names}, driver=job.driver)
    machine = torch.cuda.get_device_name() if runtime.device == "cuda" else "cpu"
    return PaidMarket(
        **asdict(job),
        sellers=len({wallet.owner for wallet in paid.wallets}),
        machine=f"{machine}, {config.precision}",
        accuracy=paid.accuracy,
        fair={name: _fair(paid, name) for name in names},
        first={name: round(float(paid.by_owner(name)[0]), DIGITS) for name in names},
        cv={name: round(steadiness(paid.pay[name]), DIGITS) for name in names},
    )


def run_all(jobs: Iterable[MarketJob], runtime: Runtime, *, workers: int, seconds: float) -> Iterator[PaidMarket]:
    """As they are done; none begins after so many seconds."""
    left, end = iter(jobs), time.monotonic() + seconds
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting: set[Future[PaidMarket]] = {pool.submit(run_job, job, runtime) for job in islice(left, workers)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            if time.monotonic() < end:
                waiting |= {pool.submit(run_job, job, runtime) for job in islice(left, len(done))}
            yield from (one.result() for one in done)


def _fair(paid: Paid, name: str) -> float | None:
    """Rank correlation of pay with the rows of right labels; None where all are paid alike, or somebody has wallets."""
    good, pay = np.array([wallet.good for wallet in paid.wallets]), paid.by_owner(name)
    found = spearman(pay, good) if len(pay) == len(good) and np.ptp(good) > 0 else np.nan
    return round(found, DIGITS) if np.isfinite(found) else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m martfl.bench.payment_markets", description=__doc__)
    parser.add_argument("--datasets", default="trec,fmnist,ag-news,cifar10", help="names separated by commas")
    parser.add_argument("--seeds", default="11,12,13", help="divisions of the data, separated by commas")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--device", choices=sorted(PRECISION), default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="markets side by side, a process each")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no market after so many")
    parser.add_argument("--data", type=Path, help="folder of the datasets")
    parser.add_argument("--out", type=Path, required=True, help="file of JSON lines, which is added to")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    asked = _parser().parse_args(arguments)
    try:
        if asked.jobs < 1:
            raise InputError(f"--jobs must be at least 1, got {asked.jobs}")
        seeds = [int(seed) for seed in asked.seeds.split(",")]
        there = {astuple(one)[:5] for one in read_kept(asked.out)} if asked.out.is_file() else set()
        jobs = [job for job in all_jobs(asked.datasets.split(","), seeds, asked.rounds) if astuple(job) not in there]
        runtime = Runtime(device=asked.device, data=asked.data, memory_share=1 / asked.jobs, workers=1)
        for paid in run_all(jobs, runtime, workers=asked.jobs, seconds=asked.seconds):
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(paid)) + "\n")
            sys.stderr.write(f"{paid.dataset} · {paid.market} · {paid.driver} · seed {paid.seed}: {paid.fair[OURS]}\n")
    except (MartflError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
