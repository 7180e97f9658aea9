"""Kappa against scikit-learn, and the choice of a baseline."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from martfl.errors import InputError
from martfl.selection import choose_baseline, cohen_kappa

labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=60)


@given(labels)
def test_kappa_agrees_with_scikit_learn(pairs):
    predicted, truth = map(np.array, zip(*pairs, strict=True))
    if len(set(predicted) | set(truth)) > 1:  # one class only: theirs is not a number, ours is 0
        assert cohen_kappa(predicted, truth) == pytest.approx(cohen_kappa_score(predicted, truth), abs=1e-12)


def test_kappa_of_a_single_class_is_zero():
    assert cohen_kappa([1, 1, 1], [1, 1, 1]) == 0.0


def test_kappa_refuses_labels_of_different_length():
    with pytest.raises(InputError, match="equally long"):
        cohen_kappa([1, 2], [1])


def test_baseline_is_the_best_on_root_data_and_the_first_of_equals():
    kappas = {3: 0.2, 5: 0.7, 8: 0.7, 9: -0.1}
    assert choose_baseline(kappas, kappas.__getitem__) == 5


def test_baseline_is_the_acquirer_when_adjustment_is_off_or_nobody_was_bought():
    assert choose_baseline([1, 2], lambda _: 1.0, adjust=False) is None
    assert choose_baseline([], lambda _: 1.0) is None


def test_baseline_refuses_a_kappa_that_is_not_a_number():
    with pytest.raises(InputError, match="provider 4"):
        choose_baseline([4], lambda _: float("nan"))
