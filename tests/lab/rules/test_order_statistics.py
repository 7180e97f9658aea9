"""Median and trimmed mean against numpy, with columns beyond one block."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from martfl.errors import InputError
from martfl.lab.rules import make_rule
from martfl.lab.rules.order_statistics import middle_mean
from martfl.lab.rules.shared import COLUMNS

MATRICES = st.integers(1, 9).flatmap(lambda n: arrays(np.float64, (n, 4), elements=st.floats(-100, 100)))


def decide(name, view, **params):
    rule = make_rule(name, **params)
    return rule.step(rule.init(), view)[1]


@given(MATRICES)
def test_the_median_is_numpys(updates) -> None:
    n = len(updates)
    assert middle_mean(torch.as_tensor(updates), (n - 1) // 2)[0].numpy() == pytest.approx(np.median(updates, axis=0))


@given(MATRICES, st.integers(0, 4))
def test_the_trimmed_mean_is_the_mean_of_the_middle(updates, trim) -> None:
    n = len(updates)
    trim = min(trim, (n - 1) // 2)
    expected = [np.mean(sorted(column.tolist())[trim : n - trim]) for column in updates.T]
    assert middle_mean(torch.as_tensor(updates), trim)[0].numpy() == pytest.approx(np.array(expected))


def test_more_columns_than_one_block() -> None:
    updates = np.random.default_rng(0).normal(size=(4, COLUMNS["cpu"] + 3)).astype(np.float32)
    assert np.allclose(middle_mean(torch.as_tensor(updates), 1)[0].numpy(), np.median(updates, axis=0))


def test_the_weights_say_whose_coordinates_were_used(view_of) -> None:
    updates = [[0.0, 9.0, 5.0, 5.0], [1.0, 1.0, 1.0, 1.0], [5.0, 0.0, 0.0, 0.0]]
    decision = decide("median", view_of(updates))
    assert decision.update.tolist() == [1.0, 1.0, 1.0, 1.0]
    assert decision.weights.tolist() == [0.0, 1.0, 0.0]


def test_the_median_does_not_move_with_an_outlier_and_the_mean_does(view_of) -> None:
    updates = np.vstack([np.random.default_rng(1).normal(size=(9, 12)), np.full((1, 12), 1e6)])
    worse = updates.copy()
    worse[9] = 1e9
    for name in ("median", "trimmed-mean"):
        assert torch.equal(decide(name, view_of(updates)).update, decide(name, view_of(worse)).update)
    assert not torch.equal(decide("fedavg", view_of(updates)).update, decide("fedavg", view_of(worse)).update)


def test_trimming_is_a_share_at_each_end(view_of) -> None:
    updates = np.arange(10.0)[:, None] ** 2
    assert decide("trimmed-mean", view_of(updates), trim=0.3).update.tolist() == [np.mean([9.0, 16.0, 25.0, 36.0])]
    make_rule("trimmed-mean", trim=0.3).check(10)


def test_trimming_must_leave_somebody() -> None:
    with pytest.raises(InputError, match=r"trim must lie in \[0, 0.5\)"):
        make_rule("trimmed-mean", trim=0.6)
