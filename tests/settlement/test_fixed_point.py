"""Fixed point: error bounds, the rule for values beyond the range, and what is refused."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from martfl.settlement import WEIGHT_TOTAL, FixedPoint, SettlementError, integer_weights, scale_for
from martfl.settlement.errors import RangeError

vectors = hnp.arrays(np.float64, st.integers(1, 50), elements=st.floats(-3, 3))


@given(vectors, st.integers(4, 24))
def test_rounding_loses_at_most_half_a_step(update, bits):
    fixed = FixedPoint(scale=scale_for(3.0, bits=bits), bits=bits)
    quantised = fixed.quantise(update, overflow="refuse")
    assert quantised.clipped == 0
    assert np.abs(fixed.dequantise(quantised.values) - update).max() <= fixed.scale / 2


@given(vectors, st.integers(2, 12))
def test_clipping_saturates_and_counts(update, bits):
    fixed = FixedPoint(scale=0.01, bits=bits)
    quantised = fixed.quantise(update, overflow="clip")
    outside = np.abs(np.rint(update / 0.01)) > fixed.bound
    assert quantised.clipped == outside.sum()
    assert np.abs(quantised.values).max() <= fixed.bound
    assert (np.abs(quantised.values[outside]) == fixed.bound).all()
    assert (np.sign(quantised.values[outside]) == np.sign(update[outside])).all()


@given(st.lists(vectors.map(lambda v: np.resize(v, 8)), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_the_integer_aggregate_is_within_half_a_step_of_the_float_one(updates, random):
    fixed = FixedPoint(scale=scale_for(3.0))
    units = integer_weights([random.random() + 0.01 for _ in updates])
    model = np.linspace(-2, 2, 8)
    total = fixed.quantise_model(model)
    for unit, update in zip(units, updates, strict=True):
        total = total + unit * fixed.quantise(update, overflow="refuse").values.astype(np.int64)
    expected = model + sum(k / WEIGHT_TOTAL * u for k, u in zip(units, updates, strict=True))
    assert np.abs(fixed.dequantise_model(total) - expected).max() <= fixed.scale * (0.5 + 2**-17) * 1.000001


@given(st.floats(1e-9, 1e9), st.integers(2, 32))
def test_scale_for_is_the_smallest_power_of_two_that_fits(largest, bits):
    scale = scale_for(largest, bits=bits)
    assert scale * (2 ** (bits - 1) - 1) >= largest > scale / 2 * (2 ** (bits - 1) - 1) * (1 - 1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("overflow", ["refuse", "clip"])
def test_not_a_number_and_infinity_are_refused_under_both_rules(value, overflow):
    with pytest.raises(RangeError, match="values must be finite: 1 are not, the first at 1"):
        FixedPoint(scale=0.1).quantise(np.array([0.0, value, 1.0]), overflow=overflow)


def test_refusing_names_the_limit_the_count_and_the_first_culprit():
    with pytest.raises(RangeError, match=r"\|u\| ≤ 0.7 .* 2 of 3 do not, the first at 1 is -0.8"):
        FixedPoint(scale=0.1, bits=4).quantise(np.array([0.7, -0.8, 9.0]), overflow="refuse")


def test_values_that_overflow_float64_are_beyond_the_range_too():
    tiny = FixedPoint(scale=1e-300)
    assert tiny.quantise(np.array([1e300, 0.0]), overflow="clip").clipped == 1
    with pytest.raises(RangeError, match="2\\^53"):
        tiny.quantise_model(np.array([1e300, 0.0]))


@pytest.mark.parametrize("bad", [np.zeros((2, 2)), np.array([])])
def test_only_flat_vectors_that_are_not_empty(bad):
    with pytest.raises(SettlementError, match="one flat vector"):
        FixedPoint(scale=0.1).quantise(bad, overflow="clip")


@pytest.mark.parametrize("settings", [{"scale": 0.0}, {"scale": np.nan}, {"scale": -1.0}, {"scale": 1.0, "bits": 1}])
def test_bad_terms_are_refused(settings):
    with pytest.raises(SettlementError, match=r"scale must be positive and finite|bit width lies in"):
        FixedPoint(**settings)


def test_the_overflow_rule_must_be_named():
    with pytest.raises(SettlementError, match="overflow must be one of"):
        FixedPoint(scale=0.1).quantise(np.zeros(2), overflow="wrap")


def test_it_imports_without_the_cryptographic_libraries():
    code = (
        "import sys; import martfl.settlement, martfl.settlement.integer_file;"
        "sys.exit(any(m.split('.')[0] in ('py_arkworks_bls12381', 'zksnake', 'web3', 'torch') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("largest", [0.0, -1.0, float("inf"), float("nan")])
def test_a_scale_needs_a_positive_finite_range(largest):
    with pytest.raises(SettlementError, match="must be positive and finite"):
        scale_for(largest)
