"""What a round of training spends its time on: the device's kernels, or on a CPU the operations, the longest first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from martfl.lab.config import make_config
from martfl.lab.runtime import Runtime
from martfl.lab.setup import make_setup
from martfl.lab.trainer import prepare_device


@dataclass(frozen=True)
class Spent:
    """A kernel or an operation in a round."""

    name: str
    ms: float  # by itself, without what it calls
    times: int


def profile_round(dataset: str, *, runtime: Runtime, precision: str) -> list[Spent]:
    """One round of all clients under torch's profiler, after one that captures graphs and warms caches."""
    config = make_config({"dataset": dataset, "rule": "fedavg", "precision": precision})
    device = prepare_device(runtime.device, precision=precision)
    setup = make_setup(config, runtime)
    start = setup.model.start(np.random.default_rng(0)).to(device)
    setup.clients.train(start, seed=0, index=0)
    on_gpu = device.type == "cuda"
    with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]) as seen:
        setup.clients.train(start, seed=0, index=0)
        if on_gpu:
            torch.cuda.synchronize()
    times = [(one, one.self_device_time_total if on_gpu else one.self_cpu_time_total) for one in seen.key_averages()]
    found = [Spent(one.key, us / 1000, one.count) for one, us in times if us > 0]
    return sorted(found, key=lambda spent: -spent.ms)
