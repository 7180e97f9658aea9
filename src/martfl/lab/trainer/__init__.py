"""Local training: a strategy per device, chosen by `make_trainer`."""

from __future__ import annotations

import os

import numpy as np
import torch

from martfl.errors import InputError
from martfl.lab.models import Model
from martfl.lab.trainer.base import LocalTraining, Plan, Shards, Trainer, make_plan, make_shards
from martfl.lab.trainer.batched import BatchedTrainer
from martfl.lab.trainer.loop import LoopTrainer

__all__ = [
    "STRATEGIES", "LocalTraining", "Plan", "Shards", "Trainer", "make_plan", "make_shards", "make_trainer", "name_of",
    "prepare_device",
]  # fmt: skip

STRATEGIES = ("auto", "batched", "loop")


def prepare_device(name: str, *, precision: str = "fp32") -> torch.device:
    """The device of that name, set to repeat itself bit for bit."""
    if name.startswith("cuda"):
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        if not torch.cuda.is_available():
            raise InputError(f"device {name!r} needs a CUDA build of torch and a GPU; neither --device cpu needs")
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    elif name != "cpu":
        raise InputError(f"device must be cpu or cuda, got {name!r}")
    return torch.device(name)


def memory_cap(device: torch.device, given_mb: int | None, share: float = 1.0) -> int:
    """Bytes for training: what was given, or three quarters of what the GPU has free, or 4 GB on a CPU."""
    if given_mb is not None:
        if given_mb < 1:
            raise InputError(f"memory must be at least 1 MB, got {given_mb}")
        return given_mb * 2**20
    free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 16 * 2**30 // 3
    return int(0.75 * share * free)


def make_trainer(
    strategy: str,
    model: Model,
    shards: Shards,
    local: LocalTraining,
    *,
    class_shares: np.ndarray,
    memory_mb: int | None = None,
    memory_share: float = 1.0,
    workers: int | None = None,
) -> Trainer:
    """The trainer for the shards' device; `auto` batches on a GPU and for models without convolutions."""
    if strategy not in STRATEGIES:
        raise InputError(f"unknown trainer {strategy!r}: choose one of {', '.join(STRATEGIES)}")
    device = shards.x.device
    if strategy == "batched" or (strategy == "auto" and (device.type == "cuda" or model.name == "mlp")):
        cap = memory_cap(device, memory_mb, memory_share)
        return BatchedTrainer(model, shards, local, class_shares=class_shares, memory_bytes=cap)
    count = workers or (len(os.sched_getaffinity(0)) if device.type == "cpu" else 1)
    return LoopTrainer(model, shards, local, class_shares=class_shares, workers=count)


def name_of(trainer: Trainer) -> str:
    """The strategy of a trainer."""
    return "batched" if isinstance(trainer, BatchedTrainer) else "loop"
