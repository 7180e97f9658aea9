"""Measures against scikit-learn and by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from martfl.lab.metrics import accuracy, cosine, fall, ground_truth, macro_f1, mean, share


@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
def test_macro_f1_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    labels, predicted = (np.array(column) for column in zip(*pairs, strict=True))
    assert macro_f1(predicted, labels, 5) == pytest.approx(
        f1_score(labels, predicted, average="macro", zero_division=0)
    )


def test_shares_and_means() -> None:
    chosen, among = np.array([True, False, True]), np.array([True, True, False])
    assert share(chosen, among) == 0.5
    assert share(chosen, np.zeros(3, dtype=bool)) is None
    assert mean([1.0, None, 3.0]) == 2.0 and mean([None]) is None
    assert accuracy(np.array([1, 2, 3]), np.array([1, 0, 3])) == pytest.approx(2 / 3)


def test_cosine_and_ground_truth() -> None:
    assert cosine(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.0])) == 0.0
    assert cosine(torch.tensor([1.0, 1.0]), torch.tensor([-2.0, -2.0])) == pytest.approx(-1)
    updates = torch.tensor([[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]])
    truth = ground_truth(updates, np.array([3, 1, 5]), np.array([True, True, False]))
    assert torch.allclose(truth, torch.tensor([0.75, 0.25]))


def test_a_fall_is_from_the_best_round_to_the_lowest_late_one() -> None:
    assert fall([]) is None
    assert fall([(10, 0.2), (20, 0.9), (30, 0.7), (40, 0.8)]) == pytest.approx(0.2)
    assert fall([(10, 0.9), (20, 0.1), (30, 0.95)]) == 0.0, "a dip before the last third is no collapse"
