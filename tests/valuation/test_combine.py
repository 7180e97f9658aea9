"""Weights: by share and by length."""

import numpy as np
import pytest

from martfl.valuation import combine
from martfl.valuation.combine import usual_length


def test_usual_lengths_leave_the_shares_as_they_are() -> None:
    shares = np.array([0.5, 0.3, 0.2])
    assert combine(shares, np.array([1.0, 1.2, 0.4])) == pytest.approx(shares)


def test_who_scales_up_is_multiplied_by_less_and_who_scales_down_by_no_more() -> None:
    shares, lengths = np.full(4, 0.25), np.ones(4)
    longer, shorter = lengths.copy(), lengths.copy()
    longer[0], shorter[0] = 15.0, 0.1
    assert combine(shares, longer)[0] == pytest.approx(0.025 / 0.775)
    assert combine(shares, shorter)[0] == pytest.approx(0.25)


def test_trust_counts_and_nobody_may_be_left() -> None:
    shares, lengths = np.array([0.5, 0.5]), np.ones(2)
    assert combine(shares, lengths, trust=np.array([1.0, 0.5])).tolist() == pytest.approx([2 / 3, 1 / 3])
    assert not combine(shares, lengths, trust=np.zeros(2)).any()
    assert combine(np.zeros(0), np.zeros(0)).size == 0


def test_many_small_wallets_do_not_move_the_usual_length() -> None:
    lengths = np.array([1.0, 1.0, *[0.1] * 20])
    shares = np.array([0.4, 0.4, *[0.01] * 20])
    assert usual_length(lengths, shares) == 1.0


def test_the_selections_weights_count_as_far_as_differences_are_not_believed() -> None:
    shares, lengths, chosen = np.full(2, 0.5), np.ones(2), np.array([0.9, 0.1])
    assert combine(shares, lengths, chosen=chosen, clarity=1.0).tolist() == [0.5, 0.5]
    assert combine(shares, lengths, chosen=chosen, clarity=0.0) == pytest.approx(chosen)
