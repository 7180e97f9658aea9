"""What a provider hands in: the part of it that is the organisation's own. The demo's attackers are conducts too."""

from dataclasses import dataclass
from typing import Any, Protocol

from martfl.market.task import Floats, Task


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a provider has when it trains in an epoch."""

    task: Task
    data: Any
    model: Floats  # [m] the global model
    before: Floats | None  # [m] the global model of the epoch before, where the provider saw it
    seed: int


class Conduct(Protocol):
    """How a provider makes the update that it sells, and which one it is scored by."""

    def update(self, lesson: Lesson) -> Floats:
        """The update to commit to [m]."""

    def scored(self, lesson: Lesson, update: Floats) -> Floats:
        """The update that scores are given of; an honest provider gives those of what it committed to."""


@dataclass(frozen=True)
class Honest:
    """Trains on its own data and says what it has."""

    def update(self, lesson: Lesson) -> Floats:
        """What training gives."""
        return lesson.task.train(lesson.model, lesson.data, seed=lesson.seed)

    def scored(self, lesson: Lesson, update: Floats) -> Floats:
        """The same."""
        return update
