"""Scores in the clear, kappa against scikit-learn, and the choice of a baseline."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from martfl.errors import InputError
from martfl.selection import choose_baseline, cohen_kappa, cosine_scores, kappa_deviation


def test_cosines_of_itself_its_negative_and_a_right_angle():
    assert cosine_scores([[3, 4], [-6, -8], [4, -3]], [3, 4]) == pytest.approx([1, -1, 0])


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1.7e308])
def test_no_length_is_too_small_or_too_large(size):
    assert cosine_scores([[size, size], [size, -size]], [1, 1]) == pytest.approx([1, 0])
    assert cosine_scores([[1, 1], [1, -1]], [size, size]) == pytest.approx([1, 0])


def test_a_zero_update_scores_zero():
    assert cosine_scores([[0, 0], [1, 0]], [1, 0]) == pytest.approx([0, 1])


@pytest.mark.parametrize(
    ("updates", "baseline", "message"),
    [
        ([[1, 2]], [0, 0], "non-zero vector"),
        ([[1, 2]], [np.nan, 0], "non-zero vector"),
        ([[1, 2], [np.nan, 1]], [1, 1], r"providers \[1\]"),
        ([[1, 2, 3]], [1, 1], r"shape \(n, 2\) as the baseline has, got \(1, 3\)"),
        ([[[1, 1]]], [1, 1], r"got \(1, 1, 2\)"),
        ([[1, 2], [3]], [1, 1], "updates must be real numbers in rows of one length"),
        ([[1, 2]], ["a", "b"], "baseline must be real numbers"),
        ([[]], [], "non-zero vector, got 0 entries"),
    ],
)
def test_cosine_refuses_bad_input(updates, baseline, message):
    with pytest.raises(InputError, match=message):
        cosine_scores(updates, baseline)


labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=60)


@given(labels)
def test_kappa_agrees_with_scikit_learn(pairs):
    predicted, truth = map(np.array, zip(*pairs, strict=True))
    if len(set(predicted) | set(truth)) > 1:  # one class only: theirs is not a number, ours is 0
        assert cohen_kappa(predicted, truth) == pytest.approx(cohen_kappa_score(predicted, truth), abs=1e-12)


def test_kappa_of_a_single_class_is_zero():
    assert cohen_kappa([1, 1, 1], [1, 1, 1]) == 0.0


def test_kappa_deviation_matches_repeated_draws():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, (400, 200))
    predicted = np.where(rng.random(truth.shape) < 0.7, truth, rng.integers(0, 5, truth.shape))
    kappas = [cohen_kappa(p, t) for p, t in zip(predicted, truth, strict=True)]
    assert kappa_deviation(predicted[0], truth[0]) == pytest.approx(np.std(kappas), rel=0.15)


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
