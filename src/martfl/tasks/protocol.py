"""What is traded for: a model, how to train it, how to judge it. A market knows this protocol and nothing else.

A model and an update are flat float32 vectors; the task's layout says which tensor each number belongs to. Data are
whatever the task understands. Judging is row by row, higher is better, in units of the task's own choice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Longs, Reals
from martfl.tasks.errors import LayoutError, TaskError
from martfl.tasks.layout import Layout, Vector
from martfl.tasks.measures import Quality, class_quality, log_chance

NEEDED = ("layout", "initial", "train", "goodness", "strata", "logits", "held_words", "by_word", "quality", "rows")
FARTHEST = 1e12  # from 0 that goodness may lie
Data = Any  # rows, in whatever form the task takes them
OLD = ("initial", "train", "logits", "labels")


class Task(Protocol):
    """A learning task. Own tasks may inherit from it, and then leave out what has a body here."""

    @property
    def layout(self) -> Layout:
        """The tensors that vectors stand for."""

    def initial(self) -> Vector:
        """The first global model [m]."""

    def train(self, model: Vector, data: Data, *, seed: int) -> Vector:
        """The update [m] that training `model` on `data` gives."""

    def goodness(self, models: Sequence[Vector], data: Data) -> Reals:
        """How good each model is on every row of `data`, higher is better [k, r]."""

    def strata(self, data: Data) -> Longs | None:
        """Which rows belong together, for classifiers the true class [r]; None where there is no such thing."""
        return None

    def logits(self, models: Sequence[Vector], data: Data) -> Reals | None:
        """What each model gives every class for every row [k, r, classes]; None where there are no classes."""
        return None

    def held_words(self, data: Data) -> NDArray[np.bool_] | None:
        """Which of the words that inputs are made of occur in `data` [w]; None where they are not made of words."""
        return None

    def by_word(self, models: Iterable[Vector], data: Data, *, seed: int) -> Iterator[Reals]:
        """What each model answers to every word in texts that are drawn from `data`, the same for all [w, texts, c].

        A rule compares what sellers teach of a word. One that can guess the texts can teach around them.
        """
        return iter(())

    def quality(self, model: Vector, data: Data) -> Quality:
        """What a person wants to know of a model. The first entry counts: higher is better, at most 1."""
        return {"goodness": float(self.goodness([model], data).mean())}

    def rows(self, data: Data) -> int:
        """How many rows `data` has."""
        return len(data)


@dataclass(frozen=True)
class FourFunctions(Task):
    """A classifier of four functions (initial, train, logits of one model, labels) as a task."""

    inner: Any

    @cached_property
    def layout(self) -> Layout:
        """One tensor: such a task names nothing."""
        return Layout.flat(int(np.size(self.inner.initial())))

    def initial(self) -> Vector:
        """As the task says."""
        return np.asarray(self.inner.initial(), np.float32)

    def train(self, model: Vector, data: Data, *, seed: int) -> Vector:
        """As the task says."""
        return np.asarray(self.inner.train(model, data, seed=seed), np.float32)

    def goodness(self, models: Sequence[Vector], data: Data) -> Reals:
        """The log probability of every row's true class."""
        return log_chance(self.logits(models, data), self.strata(data))

    def strata(self, data: Data) -> Longs:
        """The true classes."""
        return np.asarray(self.inner.labels(data), np.int64)

    def logits(self, models: Sequence[Vector], data: Data) -> Reals:
        """Model by model."""
        return np.stack([np.asarray(self.inner.logits(model, data)) for model in models])

    def quality(self, model: Vector, data: Data) -> Quality:
        """Accuracy and loss."""
        return class_quality(self.logits([model], data)[0], self.strata(data))

    def rows(self, data: Data) -> int:
        """One label a row."""
        return len(self.inner.labels(data))


def as_task(found: Any) -> Task:
    """What an organisation's function gave as a task; what is no task is refused by what it lacks."""
    missing = [name for name in NEEDED if not hasattr(found, name)]
    if not missing:
        task: Task = found
        return task
    if all(callable(getattr(found, name, None)) for name in OLD):
        return FourFunctions(found)
    raise TaskError(f"a task has {', '.join(NEEDED)}; {type(found).__name__} lacks {', '.join(missing)}")


def train_checked(task: Task, model: Vector, data: Data, *, seed: int) -> Vector:
    """The update of training, held to the rules: there are rows, and every number of the layout comes out finite."""
    check_rows(task, data)
    return check_vector(task.layout, np.asarray(task.train(model, data, seed=seed)), what="training")


def check_rows(task: Task, data: Data) -> int:
    """The number of rows; there must be one."""
    if (rows := task.rows(data)) < 1:
        raise TaskError(f"a dataset has at least one row, this one has {rows}")
    return rows


def check_vector(layout: Layout, vector: Reals, *, what: str) -> Vector:
    """The vector as float32, where it fits the layout and is finite; an error names the first tensor that is not."""
    if vector.shape != (layout.size,):
        raise LayoutError(f"{what} must give a vector of {layout.size} numbers, got the shape {vector.shape}")
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite, and refused as such
        single = vector.astype(np.float32, copy=False)
    bad = np.flatnonzero(~np.isfinite(single))
    if bad.size:
        first = int(bad[0])
        raise TaskError(
            f"{what} must give finite numbers: {bad.size} of {layout.size} are not, the first in "
            f"{layout.name_at(first)} is {single[first]}"
        )
    return single


def check_goodness(found: Reals, *, models: int, rows: int) -> NDArray[np.float64]:
    """Goodness [k, r] as finite doubles; what is no number is as bad as can be: nobody gains by breaking a model."""
    if found.shape != (models, rows):
        raise TaskError(f"goodness has one number for each of {models} models and {rows} rows, got {found.shape}")
    return np.clip(np.nan_to_num(np.asarray(found, np.float64), nan=-FARTHEST), -FARTHEST, FARTHEST)


def words_checked(
    task: Task, models: Iterable[Vector], data: Data, *, words: int, seed: int
) -> Iterator[NDArray[np.float64]]:
    """Answers to words, held to the rules: one [words, texts, c] for each model, all of one shape; no number is 0."""
    asked = given = 0
    shape: tuple[int, ...] = ()

    def counted() -> Iterator[Vector]:
        nonlocal asked
        for model in models:
            asked += 1
            yield model

    left = counted()
    for answers in task.by_word(left, data, seed=seed):
        found, given = np.asarray(answers, np.float64), given + 1
        shape = shape or found.shape
        if found.shape != shape or found.shape[:1] != (words,) or found.ndim != 3:
            raise TaskError(f"by_word gives [words, texts, classes] of {words} words, alike for all, got {found.shape}")
        yield np.nan_to_num(found)
    for _ in left:  # models that were not asked for
        pass
    if given != asked:
        raise TaskError(f"by_word gives one answer for each model, got {given} for {asked}")
