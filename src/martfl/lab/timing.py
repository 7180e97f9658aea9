"""Seconds a round of the lab, evaluation included, beside a plain loop over clients; and of the rules alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import torch

from martfl.lab.config import RunConfig, make_config
from martfl.lab.data import load_dataset
from martfl.lab.experiment import run_experiment
from martfl.lab.runtime import Runtime
from martfl.lab.setup import make_setup
from martfl.lab.trainer import prepare_device
from martfl.lab.trainer.plain import PlainTrainer
from martfl.measure import peak_mb
from martfl.selection import STRATEGIES

DATASETS = ("trec", "fmnist", "cifar10", "ag-news")


@dataclass(frozen=True)
class LabTiming:
    """What was measured for one dataset."""

    dataset: str
    device: str
    clients: int
    parameters: int
    precision: str
    round_s: float  # median of whole rounds: training, aggregation, evaluation
    train_s: float  # training alone, best of its repeats
    plain_s: float  # training by the plain loop, best of its repeats
    speedup: float  # plain_s / train_s
    rules_s: dict[str, float]  # median of each rule's own part of a round
    repeats_exactly: bool  # two runs from one seed gave the same bits
    peak_mb: float  # of the device on CUDA, else of the process


def _seconds(work: Callable[[], object], device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def bench_dataset(
    dataset: str, *, runtime: Runtime, rounds: int, repeats: int, precision: str, rules: Iterable[str] = ()
) -> LabTiming:
    """Time whole rounds, then training alone, then the plain loop on the same batches."""
    config = make_config({"dataset": dataset, "rule": "fedavg", "rounds": rounds, "precision": precision})
    device = prepare_device(runtime.device, precision=precision)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    result = run_experiment(config, runtime=runtime)
    setup, again = make_setup(config, runtime), make_setup(config, runtime)
    start = setup.model.start(np.random.default_rng(0)).to(setup.device)
    first = setup.clients.train(start, seed=0, index=0)  # captures graphs, warms caches
    train = min(_seconds(lambda: setup.clients.train(start, seed=0, index=0), device) for _ in range(repeats))
    same = bool(torch.equal(first, again.clients.train(start, seed=0, index=0)))
    peak = torch.cuda.max_memory_allocated() / 2**20 if device.type == "cuda" else peak_mb()
    shards, batches = setup.clients.shards, setup.clients.plan(seed=0, index=0)
    plain = PlainTrainer(setup.model, load_dataset(dataset, folder=runtime.data), shards, setup.clients.local)
    plain_s = min(_seconds(lambda: plain.train(start, batches), device) for _ in range(repeats))
    return LabTiming(
        dataset=dataset,
        device=torch.cuda.get_device_name() if device.type == "cuda" else f"cpu, {torch.get_num_threads()} threads",
        clients=shards.clients,
        parameters=setup.model.size,
        precision=precision,
        round_s=result.seconds_per_round or 0.0,
        train_s=train,
        plain_s=plain_s,
        speedup=plain_s / train,
        rules_s={rule: _rule_seconds(replace(config, rule=rule), runtime) for rule in rules},
        repeats_exactly=same,
        peak_mb=peak,
    )


def _rule_seconds(config: RunConfig, runtime: Runtime) -> float:
    """The rule alone, in a run in which it decides; its first round warms up."""
    history = run_experiment(replace(config, rounds=config.rounds + 1), runtime=runtime).history
    return median(row.rule_seconds for row in history[1:])


def bench_lab(
    *,
    datasets: Iterable[str] = DATASETS,
    device: str = "cpu",
    data: Path | None = None,
    rounds: int = 5,
    repeats: int = 3,
    precision: str = "fp32",
    trainer: str = "auto",
    rules: Iterable[str] = tuple(STRATEGIES),
) -> list[LabTiming]:
    """One timing per dataset."""
    runtime, chosen = Runtime(device=device, trainer=trainer, data=data), tuple(rules)
    return [
        bench_dataset(name, runtime=runtime, rounds=rounds, repeats=repeats, precision=precision, rules=chosen)
        for name in datasets
    ]
