"""The lab's models and datasets as tasks of a market: `martfl.lab.task:digits` in `market.toml`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from martfl.arrays import Array, Reals
from martfl.errors import InputError
from martfl.lab.data import load_dataset, preset_of
from martfl.lab.models import Model, make_model
from martfl.lab.models.words import answers_to_words, draw_texts, words_held
from martfl.lab.threads import one_thread
from martfl.tasks.layout import Layout, Part, Vector
from martfl.tasks.measures import Quality, class_quality, log_chance
from martfl.tasks.protocol import Task

Rows = tuple[Array, NDArray[np.int64]]


@dataclass(frozen=True)
class LabTask(Task):
    """A model of the lab, trained the way the paper trains it. Data are pairs of rows and labels."""

    model: Model
    optimizer: str
    learning_rate: float
    momentum: float = 0.9
    epochs: int = 2
    batch: int = 64
    seed: int = 0

    @cached_property
    def layout(self) -> Layout:
        """The model's weights."""
        return Layout(tuple(Part(weight.name, weight.shape) for weight in self.model.weights))

    def initial(self) -> Vector:
        """A fresh model; the same for everybody who reads the same terms."""
        return self.model.start(np.random.default_rng(self.seed)).numpy()

    @one_thread()
    def train(self, model: Vector, data: Rows, *, seed: int) -> Vector:
        """Local epochs of mini-batches in an order drawn from `seed`."""
        rng = np.random.default_rng([self.seed, seed])
        start = torch.from_numpy(np.asarray(model, dtype=np.float32))
        flat = start.clone().requires_grad_()
        optimizer = self._optimizer(flat)
        for _ in range(self.epochs):
            order = rng.permutation(len(data[1]))
            for at in range(0, len(order), self.batch):
                chosen = order[at : at + self.batch]
                optimizer.zero_grad()
                logits = self.model.one(self.model.split(flat), torch.from_numpy(data[0][chosen]))
                F.cross_entropy(logits, torch.from_numpy(data[1][chosen])).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        return (flat.detach() - start).numpy()

    def goodness(self, models: Sequence[Vector], data: Rows) -> Reals:
        """The log probability of every row's true class [k, rows]."""
        return log_chance(self.logits(models, data), self.strata(data))

    def strata(self, data: Rows) -> NDArray[np.int64]:
        """The true classes [rows]."""
        return data[1]

    def logits(self, models: Sequence[Vector], data: Rows) -> Reals:
        """[k, rows, classes]."""
        rows = torch.from_numpy(data[0])
        flats = [torch.from_numpy(np.asarray(model, dtype=np.float32)) for model in models]
        with torch.no_grad():
            return np.stack([self.model.one(self.model.split(flat), rows).numpy() for flat in flats])

    def held_words(self, data: Rows) -> NDArray[np.bool_] | None:
        """Which words the rows hold [w]; None where the model reads no words."""
        return words_held(self.model, torch.from_numpy(data[0]))

    def by_word(self, models: Iterable[Vector], data: Rows, *, seed: int) -> Iterator[Reals]:
        """[w, texts, classes] of each model."""
        texts = draw_texts(torch.from_numpy(data[0]), seed)
        for model in models:
            yield answers_to_words(self.model, torch.from_numpy(np.asarray(model, dtype=np.float32)), texts).numpy()

    def quality(self, model: Vector, data: Rows) -> Quality:
        """Accuracy and loss."""
        return class_quality(self.logits([model], data)[0], data[1])

    def rows(self, data: Rows) -> int:
        """One label a row."""
        return len(data[1])

    def _optimizer(self, flat: torch.Tensor) -> torch.optim.Optimizer:
        if self.optimizer == "adam":
            return torch.optim.Adam([flat], lr=self.learning_rate)
        return torch.optim.SGD([flat], lr=self.learning_rate, momentum=self.momentum)


def make_task(
    dataset: str, *, data: str = "", epochs: int = 2, batch: int = 64, learning_rate: float | None = None, seed: int = 0
) -> LabTask:
    """The task of a registered dataset, with its preset's model and optimiser; `data` defaults to MARTFL_DATA."""
    folder = data or os.environ.get("MARTFL_DATA", "")
    preset = preset_of(dataset)
    model = make_model(preset.model, load_dataset(dataset, folder=Path(folder) if folder else None))
    rate = preset.learning_rate if learning_rate is None else learning_rate
    if not rate > 0:
        raise InputError(f"learning_rate must be positive, got {rate}")
    return LabTask(model, preset.optimizer, rate, epochs=epochs, batch=batch, seed=seed)


def digits(**options: Any) -> LabTask:
    """Handwritten digits and a small perceptron: 2,410 parameters, nothing to download."""
    return make_task("digits", **options)


def fmnist(**options: Any) -> LabTask:
    """Fashion-MNIST and LeNet."""
    return make_task("fmnist", **options)
