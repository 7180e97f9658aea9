"""Everybody who trains in a round: providers and, where the rule has one, the acquirer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from martfl.lab.attacks import Attack, Rows
from martfl.lab.config import RunConfig
from martfl.lab.data import Dataset
from martfl.lab.models import Model
from martfl.lab.randomness import stream
from martfl.lab.runtime import Runtime
from martfl.lab.splits import Split, rows_of
from martfl.lab.trainer import LocalTraining, Plan, Shards, Trainer, make_plan, make_shards, make_trainer

ACQUIRER = 0  # its number in random streams; provider i has i + 1


@dataclass(frozen=True)
class Clients:
    """Who trains, on which rows, and how; an acquirer comes last."""

    numbers: list[int]  # in random streams
    class_shares: np.ndarray  # α of the loss that each trains with
    shards: Shards
    local: LocalTraining
    trainer: Trainer

    def plan(self, *, seed: int, index: int) -> Plan:
        """The batches of a round."""
        return make_plan(
            self.shards, self.local, seed=seed, index=index, clients=self.numbers, class_shares=self.class_shares
        )

    def train(self, model: Tensor, *, seed: int, index: int) -> Tensor:
        """[m] -> [clients, m] their updates in a round."""
        return self.trainer.train(model, self.plan(seed=seed, index=index))


@dataclass(frozen=True)
class Client:
    """One of them."""

    number: int
    rows: Rows
    class_share: float = 1.0


def providers_that_train(dataset: Dataset, split: Split, attack: Attack, seed: int) -> list[Client]:
    """Everybody but attackers that need no training; attackers on poisoned rows."""
    found = []
    for i, part in enumerate(split.providers):
        rows = rows_of(dataset, part)
        if not split.malicious[i]:
            found.append(Client(i + 1, rows))
        elif attack.trains:
            poisoned = attack.poison(dataset, rows, stream(seed, "poison", i)) if attack.poison else rows
            found.append(Client(i + 1, poisoned, attack.class_share))
    return found


def make_clients(
    found: list[Client], model: Model, config: RunConfig, *, device: torch.device, runtime: Runtime
) -> Clients:
    """Lay their rows out on the device and make the trainer."""
    full = config.filled()
    assert full.optimizer is not None and full.learning_rate is not None
    local = LocalTraining(
        full.optimizer, full.learning_rate, config.momentum, config.epochs, config.batch, config.precision
    )
    shards = make_shards([client.rows for client in found], device)
    shares = np.array([client.class_share for client in found])
    trainer = make_trainer(
        runtime.trainer,
        model,
        shards,
        local,
        class_shares=shares,
        memory_mb=runtime.memory_mb,
        memory_share=runtime.memory_share,
        workers=runtime.workers,
    )
    return Clients([client.number for client in found], shares, shards, local, trainer)
