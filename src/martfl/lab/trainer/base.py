"""What every trainer is given: the clients' rows, the local training's settings and the round's batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from martfl.lab.attacks.base import Rows
from martfl.lab.randomness import stream


@dataclass(frozen=True)
class Shards:
    """All clients' rows one after another, on the device that trains."""

    x: Tensor  # [s, ...]
    y: Tensor  # [s] int64
    offsets: np.ndarray  # [n + 1]; client i holds rows offsets[i] to offsets[i + 1]

    @property
    def clients(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.offsets)


@dataclass(frozen=True)
class LocalTraining:
    """How a client trains in a round; the optimiser starts afresh each time."""

    optimizer: Literal["sgd", "adam"]
    learning_rate: float
    momentum: float = 0.9
    epochs: int = 2
    batch: int = 64
    precision: str = "fp32"


@dataclass(frozen=True)
class Plan:
    """The batches of one round."""

    rows: np.ndarray  # [steps, n, batch] int64 row numbers of the shards; any number where the weight is 0
    weights: np.ndarray  # [steps, n, batch] float32: 1/(rows of the batch) · class share, or 0 for padding
    steps: np.ndarray  # [n] steps of each client; later ones are padding


class Trainer(Protocol):
    """Turns a global model into one update per client."""

    def train(self, model: Tensor, plan: Plan) -> Tensor: ...  # [m] -> [n, m]


def make_shards(parts: list[Rows], device: torch.device) -> Shards:
    """Lay the clients' rows one after another on the device; token numbers become int64."""
    x = torch.from_numpy(np.concatenate([part.x for part in parts]))
    y = torch.from_numpy(np.concatenate([part.y for part in parts]).astype(np.int64))
    x = x.long() if x.dtype == torch.int32 else x
    offsets = np.concatenate([[0], np.cumsum([len(part.y) for part in parts])])
    return Shards(x.to(device), y.to(device), offsets)


def make_plan(
    shards: Shards, local: LocalTraining, *, seed: int, index: int, clients: list[int], class_shares: np.ndarray
) -> Plan:
    """Shuffled batches for every epoch, each client from its own stream (seed, round, participant)."""
    batch, sizes = local.batch, shards.sizes
    per_epoch = -(-sizes // batch)
    steps = per_epoch * local.epochs
    rows = np.zeros((int(steps.max()), len(sizes), batch), dtype=np.int64)
    weights = np.zeros(rows.shape, dtype=np.float32)
    for i, (size, blocks) in enumerate(zip(sizes, per_epoch, strict=True)):
        rng = stream(seed, "batches", index, clients[i])
        filled = np.minimum(batch, size - batch * np.arange(blocks))  # rows of each batch of an epoch
        share = np.where(np.arange(batch) < filled[:, None], class_shares[i] / filled[:, None], 0)
        for epoch in range(local.epochs):
            span = slice(epoch * blocks, (epoch + 1) * blocks)
            order = np.zeros(blocks * batch, dtype=np.int64)
            order[:size] = rng.permutation(size)
            rows[span, i] = shards.offsets[i] + order.reshape(blocks, batch)
            weights[span, i] = share
    return Plan(rows, weights, steps)
