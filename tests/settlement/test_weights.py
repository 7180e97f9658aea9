"""Integer weights: sums, proportions, order, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.settlement import WEIGHT_TOTAL, check_weights, integer_weights
from martfl.settlement.errors import WeightError

real_weights = st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=40).filter(any)


@given(real_weights)
def test_they_sum_to_the_total_and_keep_zero_and_positive(weights):
    units = integer_weights(weights)
    assert sum(units) == WEIGHT_TOTAL
    assert [k > 0 for k in units] == [w > 0 for w in weights]
    assert check_weights(units, providers=len(weights)) == units


@given(real_weights)
def test_largest_remainder_stays_within_one_unit_where_nobody_had_to_be_lifted(weights):
    ideal = [w * WEIGHT_TOTAL / math.fsum(weights) for w in weights]
    units = integer_weights(weights)
    lifted = sum(0 < x < 1 for x in ideal)
    assert all(abs(k - x) < 1 + lifted + 1e-6 for k, x in zip(units, ideal, strict=True))


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20), st.floats(1e-3, 1e3))
def test_scaling_by_a_power_of_two_changes_nothing(weights, factor):
    power = 2.0 ** round(math.log2(factor))
    assert integer_weights(weights) == integer_weights([w * power for w in weights])


def test_known_case_and_ties_go_to_the_lowest_index():
    assert integer_weights([1, 1, 1]) == [21846, 21845, 21845]
    assert integer_weights(np.array([0.5, 0.0, 0.5])) == [32768, 0, 32768]


def test_a_tiny_weight_keeps_one_unit_taken_from_the_largest():
    assert integer_weights([1.0, 1e-12, 0.0]) == [WEIGHT_TOTAL - 1, 1, 0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([], "between 1 and"),
        ([0.0, 0.0], "at least one weight must be positive"),
        ([1.0, -0.1], "weight 1 is -0.1"),
        ([math.nan], "weight 0 is nan"),
        ([1.0, math.inf], "weight 1 is inf"),
    ],
)
def test_bad_real_weights_are_refused(weights, message):
    with pytest.raises(WeightError, match=message):
        integer_weights(weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([WEIGHT_TOTAL], "2 providers, got 1 weights"),
        ([WEIGHT_TOTAL - 1, 0], "must sum to 65536, got 65535"),
        ([WEIGHT_TOTAL, 1], "must sum to 65536, got 65537"),
        ([0, 0], "must sum to 65536, got 0"),
        ([WEIGHT_TOTAL + 1, -1], "weight 0 is 65537"),
        ([WEIGHT_TOTAL, -0.0], "must be integers"),
        ([WEIGHT_TOTAL - 1, True], "must be integers"),
    ],
)
def test_bad_integer_weights_are_refused(weights, message):
    with pytest.raises(WeightError, match=message):
        check_weights(weights, providers=2)
