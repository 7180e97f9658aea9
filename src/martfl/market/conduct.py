"""What a provider hands in: the part of it that is the organisation's own. The demo's attackers are conducts too."""

from dataclasses import dataclass
from typing import Protocol

from martfl.arrays import Reals
from martfl.tasks.layout import Vector
from martfl.tasks.protocol import Data, Task, train_checked


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a provider has when it trains in an epoch."""

    task: Task
    data: Data
    model: Vector  # [m] the global model
    before: Vector | None  # [m] the global model of the epoch before, where the provider saw it
    seed: int


class Conduct(Protocol):
    """How a provider makes the update that it sells, and which one it is scored by."""

    def update(self, lesson: Lesson) -> Reals:
        """The update to commit to [m]."""

    def scored(self, lesson: Lesson, update: Reals) -> Reals:
        """The update that scores are given of; an honest provider gives those of what it committed to."""


@dataclass(frozen=True)
class Honest:
    """Trains on its own data and says what it has."""

    def update(self, lesson: Lesson) -> Reals:
        """What training gives."""
        return train_checked(lesson.task, lesson.model, lesson.data, seed=lesson.seed)

    def scored(self, lesson: Lesson, update: Reals) -> Reals:
        """The same."""
        return update
