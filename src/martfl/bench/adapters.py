"""What fixing one factor of an adapter costs: held-out loss of averaged adapters, fixed and free, round by round.

Free adapters are averaged factor by factor, as markets and most federated learning would. `mismatch` is how far the
average of the factors is from the average of the adapters, ‖B̄·Ā − mean(B·A)‖ / ‖mean(B·A)‖, after the first round.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from martfl.tasks.base_model import SMALL, base_identity
from martfl.tasks.layout import Vector
from martfl.tasks.lora_task import LoraTask, lora
from martfl.tasks.speeches import by_play, load_speeches
from martfl.values import Json

TEST_PLAY, TEST_SPEECHES = "hamlet", 32


@dataclass(frozen=True, kw_only=True)
class AdapterBench:
    """One way to trade adapters."""

    name: str
    rank: int
    parameters: int  # traded
    losses: tuple[float, ...]  # before, and after every round
    mismatch: float


def bench_adapters(
    *, rank: int = 8, rounds: int = 1, steps: int = 12, tokens: int = 64, sellers: int = 3, base: str = SMALL
) -> list[AdapterBench]:
    """Fixed at this rank; free at half of it, which are as many numbers; free at this rank."""
    plays = by_play(load_speeches())
    test = plays.pop(TEST_PLAY)[:TEST_SPEECHES]
    shares = list(plays.values())[:sellers]
    given: Json = {"base": base, "identity": base_identity(base), "steps": steps, "tokens": tokens}
    kinds = [("A fixed", rank, False), ("both free, half the rank", max(1, rank // 2), True), ("both free", rank, True)]
    found = []
    for name, own, both in kinds:
        task = lora(**given, rank=own, alpha=2 * own, both=both)
        losses, mismatch = _measured(task, shares, test, rounds)
        found.append(AdapterBench(name=name, rank=own, parameters=task.layout.size, losses=losses, mismatch=mismatch))
    return found


def _measured(
    task: LoraTask, shares: Sequence[Sequence[str]], test: Sequence[str], rounds: int
) -> tuple[tuple[float, ...], float]:
    """Losses before and after every round, and the first round's mismatch."""
    model, losses, mismatch = task.initial(), [], 0.0
    losses.append(task.quality(model, test)["loss"])
    for number in range(rounds):
        updates = [task.train(model, texts, seed=number) for texts in shares]
        if number == 0:
            mismatch = _mismatch(task, [model + update for update in updates])
        model = model + np.mean(updates, axis=0)
        losses.append(task.quality(model, test)["loss"])
    return tuple(losses), mismatch


def _mismatch(task: LoraTask, models: Sequence[Vector]) -> float:
    """Over all layers together."""
    wanted = [sum(layers) / len(models) for layers in zip(*(_products(task, m) for m in models), strict=True)]
    found = _products(task, np.mean(models, axis=0))
    apart = sum(float(((a - b) ** 2).sum()) for a, b in zip(found, wanted, strict=True))
    return math.sqrt(apart / sum(float((b**2).sum()) for b in wanted))


def _products(task: LoraTask, model: Vector) -> list[torch.Tensor]:
    task.put(np.asarray(model, np.float32))
    layers: list[Any] = [layer for layer in task.module.modules() if hasattr(layer, "get_delta_weight")]
    with torch.no_grad():
        return [layer.get_delta_weight("default").clone() for layer in layers]
