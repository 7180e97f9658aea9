"""Random signs have nothing in common with anything; good updates do, also where they are opposed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.selection.noise import in_common, noisy, tie

TRUTH = np.random.default_rng(0).normal(size=5000)


@given(st.integers(0, 2**32 - 1))
def test_random_signs_have_no_tie(seed) -> None:
    rng = np.random.default_rng(seed)
    assert tie(TRUTH * rng.choice([-1.0, 1.0], TRUTH.size), [TRUTH]) < 6


def test_who_agrees_or_opposes_has_one() -> None:
    other = TRUTH + 5 * np.random.default_rng(1).normal(size=5000)
    assert tie(other, [TRUTH]) > 9
    assert tie(-other, [TRUTH]) == pytest.approx(tie(other, [TRUTH])) == pytest.approx(tie(3 * other, [0.1 * TRUTH]))
    assert tie(other, []) == tie(other, [0 * TRUTH]) == 0.0


@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_updates_have_in_common_what_their_pairs_have(seed, k) -> None:
    rng = np.random.default_rng(seed)
    signs = TRUTH * rng.choice([-1.0, 1.0], size=(k, TRUTH.size))
    assert abs(in_common(list(signs))) < 6
    products = [a * b for i, a in enumerate(signs) for b in signs[:i]]
    pairs = sum(p.sum() for p in products) / np.sqrt(sum((p**2).sum() for p in products))
    assert in_common(list(signs)) == pytest.approx(pairs, abs=1e-6)


def test_who_shares_little_with_each_of_many_shares_much_with_all() -> None:
    little = [0.2 * TRUTH + row for row in np.random.default_rng(1).normal(size=(12, TRUTH.size))]
    assert in_common(little[:2]) < 4 < in_common(little)
    assert in_common(little[:1]) == in_common([0 * TRUTH] * 3) == 0.0


def test_nobody_is_noise_where_nobody_stands_out() -> None:
    """A model of a few parameters cannot show agreement, so that its absence says nothing."""
    assert noisy({0: 2.0, 1: 4.0, 2: 1.0}, agreement=3.0) == []
    assert noisy({0: 2.0, 1: 40.0, 2: 1.0}, agreement=3.0) == [0, 2]
    assert noisy({}, agreement=3.0) == []
