"""Vectors as rules see them: numpy arrays or torch tensors, of any length."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from martfl.selection.vectors import cosine, norm, sketches, to_floats

A, B = np.array([3.0, 4.0, 0.0]), np.array([0.0, 4.0, 3.0])


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_a_cosine_does_not_depend_on_lengths(long, short):
    assert cosine(long * A, short * B) == pytest.approx(16 / 25)


def test_nothing_has_no_direction():
    assert cosine(A, np.zeros(3)) == cosine(np.zeros(3), A) == 0.0


def test_tensors_serve_as_arrays_do():
    assert cosine(torch.tensor(A), torch.tensor(B)) == cosine(A, B)
    assert np.array_equal(to_floats(torch.tensor(A)), A) and to_floats(A).dtype == np.float64


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_length_that_is_none_is_told(bad):
    assert norm(A) == 5.0 and not math.isfinite(norm(np.array([1.0, bad])))


def test_sketches_keep_cosines():
    rng = np.random.default_rng(0)
    common = rng.normal(size=50_000)
    vectors = [common + rng.normal(size=50_000) for _ in range(4)]
    small = sketches(vectors, seed=1, size=4096)
    assert small.shape == (4, 4096)
    assert [cosine(small[0], one) for one in small[1:]] == pytest.approx([0.5] * 3, abs=0.06)
