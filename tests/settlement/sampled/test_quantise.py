"""Affine quantisation, and equations (4) and (6) in exact integers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.settlement import SettlementError, integer_weights
from martfl.settlement.errors import RangeError, WeightError
from martfl.settlement.sampled import quantise
from martfl.settlement.sampled.quantise import Affine, Quantisation
from martfl.settlement.sampled.statement import Shape

SHAPE = Shape(providers=4, samples=4)
limits = st.floats(1e-3, 10)


@given(low=st.floats(-10, -1e-3), high=limits, bits=st.integers(4, 24), epsilon=st.floats(0, 1e-2), data=st.data())
def test_values_in_range_come_back_within_half_a_step(low, high, bits, epsilon, data):
    affine = Affine.over(low, high, bits=bits, epsilon=epsilon + float(high - low) / 2**bits)
    x = data.draw(st.lists(st.floats(low, high), min_size=1, max_size=20))
    q = affine.quantise(x).values
    assert q.min() >= 0
    assert q.max() < 2**bits
    assert np.abs(affine.dequantise(q) - x).max() <= float(affine.scale) * 0.5 * (1 + 1e-6)
    assert affine.dequantise(np.array([affine.zero]))[0] == 0


def market(update_limit: float, model_limit: float) -> Quantisation:
    return Quantisation.symmetric(SHAPE, update_limit=update_limit, model_limit=model_limit, epsilon=1e-3)


@given(seed=st.integers(0, 2**32), update_limit=st.floats(0.01, 1), ratio=st.floats(2, 20), n=st.integers(1, 6))
def test_the_dequantised_model_is_within_the_stated_error(seed, update_limit, ratio, n):
    terms, rng = market(update_limit, update_limit * ratio), np.random.default_rng(seed)
    real = rng.uniform(-update_limit, update_limit, (n, 30))
    weights = integer_weights(rng.random(n) + 0.01)
    old = terms.model.quantise(rng.uniform(-update_limit, update_limit, 30) * (ratio - 1.5)).values
    aggregated = quantise.aggregate([terms.update.quantise(u).values for u in real], weights, terms=terms)
    new = quantise.update(old, aggregated.values, terms=terms).values
    expected = terms.model.dequantise(old) + np.array(weights) @ real / 2**16
    assert np.abs(terms.model.dequantise(new) - expected).max() <= terms.error_bound() * (1 + 1e-9)


@given(seed=st.integers(0, 2**32), n=st.integers(1, 6))
def test_both_equations_hold_exactly_with_their_remainders(seed, n):
    terms, rng = market(0.5, 4.0), np.random.default_rng(seed)
    c, unit = terms.constants(), 1 << terms.eta
    updates = [
        rng.integers(0, 1 << terms.update.bits, 20) for _ in range(n)
    ]  # the whole range, not only typical values
    weights = integer_weights(rng.random(n) + 0.01)
    old = rng.integers(1 << 22, 3 << 22, 20)
    a = quantise.aggregate(updates, weights, terms=terms)
    u = quantise.update(old, a.values, terms=terms)
    for j in range(20):  # in Python's integers
        m1, m2 = sum(k * int(q[j]) for k, q in zip(weights, updates, strict=True)), c.update_zero * sum(weights)
        assert unit * int(a.values[j]) + int(a.remainders[j]) == (
            unit * c.aggregate_zero + unit // 2 + c.alpha * (m1 - m2)
        )
        assert unit * int(u.values[j]) + int(u.remainders[j]) == (
            unit * int(old[j]) + unit // 2 + c.beta * (int(a.values[j]) - c.aggregate_zero)
        )
    assert all(0 <= r < unit for r in [*a.remainders.tolist(), *u.remainders.tolist()])


@pytest.mark.parametrize("extreme", [0, (1 << SHAPE.update_bits) - 1])
def test_the_aggregate_of_extreme_updates_stays_in_range(extreme):
    terms = market(0.5, 4.0)
    a = quantise.aggregate([np.full(3, extreme)], [1 << 16], terms=terms)
    assert 0 <= a.values.min() <= a.values.max() < 1 << terms.aggregate.bits


def test_values_beyond_the_range_are_refused_or_clipped_and_counted():
    affine = Affine.over(-1, 1, bits=12, epsilon=1e-3)
    values = [0.0, 1.5, -2.0, 0.5]
    with pytest.raises(RangeError, match="2 of 4"):
        affine.quantise(values)
    clipped = affine.quantise(values, overflow="clip")
    assert clipped.clipped == 2
    assert clipped.values[1] == 4095
    assert clipped.values[2] == 0


@pytest.mark.parametrize("bad", [[np.nan], [np.inf], [-np.inf], [], [[1.0]]])
def test_what_is_not_a_finite_vector_is_refused(bad):
    with pytest.raises(SettlementError, match=r"must be finite|one flat vector"):
        Affine.over(-1, 1, bits=12, epsilon=0).quantise(bad, overflow="clip")


def test_bad_ranges_and_rules_are_refused():
    with pytest.raises(SettlementError, match="low < high"):
        Affine.over(1, 1, bits=12, epsilon=0)
    with pytest.raises(SettlementError, match="contain 0"):
        Affine.over(1, 2, bits=12, epsilon=0)
    with pytest.raises(SettlementError, match="ε"):
        Affine.over(-1, 1, bits=12, epsilon=-1)
    with pytest.raises(SettlementError, match="overflow"):
        Affine.over(-1, 1, bits=12, epsilon=0).quantise([0.0], overflow="wrap")
    with pytest.raises(SettlementError, match="positive"):
        Quantisation(
            update=Affine(Fraction(1, 2**60), 2048, 12),
            aggregate=Affine(Fraction(1), 1 << 19, 20),
            model=Affine(Fraction(1), 1 << 23, 24),
            eta=28,
        )


def test_bad_aggregations_are_refused():
    terms = market(0.5, 4.0)
    good = np.full(3, 2048)
    with pytest.raises(WeightError, match="sum"):
        quantise.aggregate([good], [0], terms=terms)
    with pytest.raises(WeightError, match="one weight per provider"):
        quantise.aggregate([good, good], [1 << 16], terms=terms)
    with pytest.raises(RangeError, match="update 0"):
        quantise.aggregate([np.array([4096])], [1 << 16], terms=terms)
    with pytest.raises(SettlementError, match="same length"):
        quantise.aggregate([good, good[:2]], [1 << 15, 1 << 15], terms=terms)
    top = np.full(3, (1 << 24) - 1)
    with pytest.raises(RangeError, match="leaves its range"):
        quantise.update(top, np.full(3, (1 << 20) - 1), terms=terms)
    with pytest.raises(SettlementError, match="same length"):
        quantise.update(top, good[:2], terms=terms)
