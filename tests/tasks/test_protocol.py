"""Own tasks: written by hand, of four functions, or incomplete."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from martfl.tasks import Layout, Part, Task, TaskError, as_task
from martfl.tasks.measures import auc
from martfl.tasks.protocol import train_checked

RNG = np.random.default_rng(0)


class Nearest:
    """A classifier of four functions, over distances to two points on a line."""

    def initial(self) -> np.ndarray:
        return np.zeros(2)

    def train(self, model: np.ndarray, data: Any, *, seed: int) -> np.ndarray:
        x, y = data
        return np.array([x[y == c].mean() for c in (0, 1)]) - model

    def logits(self, model: np.ndarray, data: Any) -> np.ndarray:
        return -((data[0][:, None] - model) ** 2)

    def labels(self, data: Any) -> np.ndarray:
        return data[1]


class Mean(Task):
    """The least that a task of one's own needs."""

    layout = Layout((Part("mean", (1,)),))

    def initial(self) -> np.ndarray:
        return np.zeros(1, np.float32)

    def train(self, model: np.ndarray, data: Any, *, seed: int) -> np.ndarray:
        return np.float32(np.mean(data)) - model

    def goodness(self, models: Sequence[np.ndarray], data: Any) -> np.ndarray:
        return np.stack([-((np.asarray(data) - model[0]) ** 2) for model in models])


def test_four_functions_are_a_task() -> None:
    x = np.concatenate([RNG.normal(-2, 1, 50), RNG.normal(2, 1, 50)])
    data = x, np.repeat([0, 1], 50)
    task = as_task(Nearest())
    update = train_checked(task, task.initial(), data, seed=0)
    assert update.dtype == np.float32
    assert task.layout.to_table() == {"parameters": "float32[2]"}
    assert task.rows(data) == 100
    before, after = (task.quality(model, data) for model in (task.initial(), update))
    assert after["accuracy"] > 0.9 > before["accuracy"]
    assert after["auc"] > 0.95
    good = task.goodness([task.initial(), update], data)
    assert good.shape == (2, 100)
    assert -good[1].mean() == pytest.approx(after["loss"])
    assert np.array_equal(task.strata(data), data[1])


def test_an_own_task_may_leave_out_what_it_has_not() -> None:
    task = as_task(Mean())
    update = train_checked(task, task.initial(), [1.0, 3.0], seed=0)
    assert update == [2.0]
    assert task.quality(update, [1.0, 3.0]) == {"goodness": -1.0}
    assert task.strata([1.0]) is None
    assert task.logits([update], [1.0]) is None
    assert task.held_words([1.0]) is None and list(task.by_word([update], [1.0], seed=0)) == []
    with pytest.raises(TaskError, match="at least one row, this one has 0"):
        train_checked(task, update, [], seed=0)


def test_what_is_no_task_is_refused_by_what_it_lacks() -> None:
    with pytest.raises(TaskError, match="object lacks layout, initial, train"):
        as_task(object())


def test_another_layout_is_told_by_the_first_name() -> None:
    assert Layout((Part("median", (1,)),)).difference(Mean().layout) == "median is expected where mean is"


def test_the_area_under_the_curve_counts_pairs() -> None:
    scores, positive = RNG.integers(0, 5, 40).astype(float), RNG.random(40) < 0.4
    pairs = [(p > n) + 0.5 * (p == n) for p in scores[positive] for n in scores[~positive]]
    assert auc(scores, positive) == pytest.approx(np.mean(pairs))
    assert np.isnan(auc(scores, np.ones(40, bool)))
