"""A round small enough to reason about: a linear classifier whose parameters are the flat vector."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from martfl.lab.rules import RoundView

FEATURES, CLASSES, ROOT = 6, 3, 30


@dataclass(frozen=True)
class LinearJudge:
    """Logits are the rows times the parameters reshaped to [features, classes]."""

    rows: Tensor  # [r, features]
    labels: Tensor  # [r]
    num_classes: int = CLASSES

    def logits(self, models: Tensor) -> Tensor:
        return torch.einsum("rf,kfc->krc", self.rows, models.reshape(len(models), -1, self.num_classes))

    def held_words(self) -> None:
        """Features are no words."""

    def by_word(self, models: Any, seed: int) -> Any:
        raise NotImplementedError

    def predict(self, models: Tensor) -> Tensor:
        return self.logits(models).argmax(dim=-1)


def truth_matrix() -> Tensor:
    return torch.eye(FEATURES, dtype=torch.float64)[:, :CLASSES].flatten()  # feature c votes for class c


def judge_over(labels: Tensor, seed: int = 0) -> LinearJudge:
    noise = torch.randn(len(labels), FEATURES, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return LinearJudge(0.1 * noise + torch.eye(FEATURES, dtype=torch.float64)[labels], labels)


@pytest.fixture
def truth() -> Tensor:
    """The parameters that classify the judge's rows correctly."""
    return truth_matrix()


@pytest.fixture
def view_of() -> Callable[..., RoundView]:
    """A round from updates alone; everything else has a plain default."""

    def build(updates: Any, **changes: Any) -> RoundView:
        rows = torch.as_tensor(updates, dtype=torch.float64)
        n, m = rows.shape
        given = {
            "index": 0,
            "model": torch.zeros(m, dtype=torch.float64),
            "updates": rows,
            "own_update": torch.ones(m, dtype=torch.float64),
            "sizes": torch.ones(n, dtype=torch.int64),
            "honest": torch.ones(n, dtype=torch.bool),
            "judge": judge_over(torch.arange(ROOT) % CLASSES),
            "rng": np.random.default_rng(7),
        }
        return RoundView(**(given | changes))

    return build


@pytest.fixture
def crowd(truth: Tensor) -> Tensor:
    """[10, 18]: seven good updates of varied length, two that point elsewhere, one that points backwards."""
    random = np.random.default_rng(5)
    good = truth.numpy() * random.uniform(0.5, 2.0, (7, 1)) + random.normal(0, 0.1, (7, truth.numel()))
    stray = random.normal(0, 1.0, (2, truth.numel()))
    return torch.as_tensor(np.vstack([good, stray, -3.0 * truth.numpy()[None]]))
