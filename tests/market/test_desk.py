"""The acquirer's desk: what a rule asks of the task reaches it, and what is no number comes back as one."""

from typing import Any

import numpy as np
import pytest

from martfl.market.desk import Desk
from martfl.tasks import TaskError


class Words:
    """Two words; a model is what it answers to them."""

    def held_words(self, data: Any) -> np.ndarray:
        return np.isin([1, 2], data)

    def by_word(self, models: Any, data: Any, *, seed: int) -> Any:
        assert data == [2, 2] and seed == 5
        for model in models:
            assert model.dtype == np.float32
            yield model.reshape(2, 1, 2)


@pytest.fixture
def desk() -> Desk:
    made = object.__new__(Desk)
    made.task, made.root = Words(), [2, 2]
    return made


def test_a_rule_asks_about_single_words_through_the_desk(desk: Desk) -> None:
    assert desk.held_words is not None and desk.held_words.tolist() == [False, True]
    found = list(desk.by_word([np.array([1.0, np.nan, 3.0, 4.0]), np.zeros(4)], seed=5))
    assert [one.tolist() for one in found] == [[[[1.0, 0.0]], [[3.0, 4.0]]], [[[0.0, 0.0]], [[0.0, 0.0]]]]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([np.zeros((3, 1, 2))] * 2, r"of 2 words, alike for all, got \(3, 1, 2\)"),
        ([np.zeros((2, 2))] * 2, r"got \(2, 2\)"),
        ([np.zeros((2, 1, 2)), np.zeros((2, 2, 2))], r"alike for all, got \(2, 2, 2\)"),
        ([np.zeros((2, 1, 2))], "one answer for each model, got 1 for 2"),
        ([np.zeros((2, 1, 2))] * 3, "one answer for each model, got 3 for 2"),
    ],
)
def test_answers_of_another_form_are_refused(desk: Desk, answers: list[np.ndarray], message: str) -> None:
    desk.task.by_word = lambda models, data, *, seed: iter(answers)  # type: ignore[method-assign]
    with pytest.raises(TaskError, match=message):
        list(desk.by_word([np.zeros(4), np.zeros(4)], seed=5))
