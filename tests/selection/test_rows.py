import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from martfl.selection.rows import rows_ahead, sureness

LOGITS = arrays(np.float64, (2, 5, 3), elements=st.floats(-30, 30))
TRUTH = np.array([0, 1, 2, 1, 0])


def test_rows_ahead_counts_only_where_two_models_differ():
    right, other = np.array([1, 1, 1, 1, 0, 1, 0]), np.array([0, 0, 0, 1, 1, 1, 0])
    assert rows_ahead(right, other) == pytest.approx((3 - 1) / np.sqrt(4)) == -rows_ahead(other, right)
    assert rows_ahead(right, right) == 0.0
    rng = np.random.default_rng(0)
    chance = [rows_ahead(*rng.integers(0, 2, size=(2, 200))) for _ in range(2000)]
    assert np.std(chance) == pytest.approx(1.0, abs=0.1), "between equals it deviates by one"


@given(LOGITS, st.floats(-1e3, 1e3))
def test_sureness_lies_between_none_and_all_and_does_not_hang_on_the_level_of_the_logits(logits, level):
    sure = sureness(logits, TRUTH)
    assert sure.shape == (2, 5) and ((sure >= 0) & (sure <= 1)).all()
    np.testing.assert_allclose(sureness(logits + level, TRUTH), sure, atol=1e-9)
    squares = sum(sureness(logits, np.full(5, label)) ** 2 for label in range(3))
    np.testing.assert_allclose(squares, 1.0)


@given(LOGITS)
def test_rows_ahead_is_antisymmetric_and_at_most_the_root_of_the_rows(logits):
    one, other = sureness(logits, TRUTH)
    ahead = rows_ahead(one, other)
    assert ahead == pytest.approx(-rows_ahead(other, one)) and abs(ahead) <= np.sqrt(5) + 1e-9


def test_a_model_gone_to_pieces_is_sure_of_nothing():
    logits = np.zeros((3, 5, 3))
    logits[1], logits[2, :, 0] = np.nan, np.inf
    assert sureness(logits, TRUTH)[0] == pytest.approx(np.sqrt(1 / 3))
    assert not sureness(logits, TRUTH)[1:].any()


def test_models_that_give_the_same_answers_are_still_told_apart():
    """Both are right on the same rows; one is a little surer of most of them."""
    rng = np.random.default_rng(0)
    surer = rng.normal(size=(100, 4))
    truth = rng.integers(0, 4, 100)
    other = surer.copy()
    other[np.arange(100), truth] -= 0.01 * (rng.random(100) < 0.9)
    assert (surer.argmax(1) == other.argmax(1)).all()
    assert rows_ahead(surer.argmax(1) == truth, other.argmax(1) == truth) == 0.0
    assert rows_ahead(*sureness(np.stack([surer, other]), truth)) > 5.0
