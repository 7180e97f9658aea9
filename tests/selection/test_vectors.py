"""Vectors as rules see them: numpy arrays or torch tensors, of any length."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from martfl.selection.vectors import (
    compare,
    cosine,
    heavy_sketches,
    norm,
    norms,
    scale_rows,
    sketches,
    stack,
    to_floats,
    weighted_sum,
)

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


def directions(k, m, *, seed=0):
    """Unit vectors with something in common, and a reference."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=m) + rng.normal(size=(k + 1, m))
    return rows[:-1] / np.linalg.norm(rows[:-1], axis=1, keepdims=True), rows[-1]


@pytest.mark.parametrize("m", [40, 4096, 70_001])
def test_all_that_is_asked_of_directions_is_what_each_pair_says(m) -> None:
    units, reference = directions(4, m)
    found = compare(units, reference, seed=1, size=4096)
    assert np.allclose(found.cosines, units @ units.T)
    assert np.allclose(found.chance, np.sqrt((units**2) @ (units**2).T))
    assert found.reference == pytest.approx([cosine(unit, reference) for unit in units])
    assert np.allclose(found.sketches, sketches(list(units), seed=1, size=4096))
    assert found.sketches.shape == (4, min(m, 4096))


@pytest.mark.parametrize("m", [40, 70_001])
def test_a_matrix_of_torch_is_compared_as_one_of_numpy(m) -> None:
    units, reference = directions(5, m)
    here = compare(units, reference, seed=2, size=1024)
    there = compare(torch.tensor(units), torch.tensor(reference), seed=2, size=1024)
    for name in ("sketches", "cosines", "chance", "reference", "heaviest"):
        assert np.allclose(getattr(here, name), getattr(there, name))
    assert np.allclose(here.ties(), there.ties())


def test_ties_are_the_closest_or_most_opposed_other_in_deviations_of_random_signs() -> None:
    units, reference = directions(3, 2000)
    found = compare(np.vstack([units, -units[:1]]), reference, seed=0, size=256)
    tie = cosine(units[1], units[2]) / math.sqrt(float((units[1] ** 2) @ (units[2] ** 2)))
    assert found[[1, 2]].ties() == pytest.approx([tie, tie])
    assert found[[0, 3]].ties()[0] == pytest.approx(1 / math.sqrt(float((units[0] ** 4).sum())))
    assert found[[2]].ties().tolist() == [0.0]


def test_nothing_is_in_common_with_nothing() -> None:
    units, _ = directions(2, 100)
    found = compare(units, np.zeros(100), seed=0, size=256)
    assert found.reference.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("m", [300, 70_001])
@pytest.mark.parametrize("make", [np.asarray, torch.tensor], ids=["numpy", "torch"])
def test_where_the_reference_is_zero_the_heaviest_numbers_count(m, make) -> None:
    units, reference = directions(4, m)
    reference[: m // 2] = 0.0
    bound = float(np.abs(units).max()) / 2
    found, heaviest = heavy_sketches(make(units), make(reference), bound=bound, seed=3, size=m)
    cut = np.clip(units[:, : m // 2] / bound, -1.0, 1.0)
    assert np.allclose(found[:, : m // 2], cut**7) and not found[:, m // 2 :].any()
    assert heaviest == pytest.approx(bound * np.sqrt((cut**8).sum(axis=1) / (cut**6).sum(axis=1)))
    light = units[:, m // 2 :]
    assert compare(make(units), make(reference), seed=3, size=m).heaviest == pytest.approx(
        np.sqrt((light**8).sum(axis=1) / (light**6).sum(axis=1))
    )


def test_sketches_of_heavy_numbers_keep_what_two_have_in_common() -> None:
    units, reference = directions(3, 70_001)
    reference[:60_000] = 0.0
    units[:, :50] = 0.05 * np.sign(units[0, :50])
    whole, small = (heavy_sketches(units, reference, bound=0.03, seed=3, size=size)[0] for size in (70_001, 4096))
    assert np.allclose(whole @ whole.T, small @ small.T, atol=0.1 * np.linalg.norm(whole, axis=1).max() ** 2)


@pytest.mark.parametrize("make", [np.asarray, torch.tensor], ids=["numpy", "torch"])
def test_rows_of_a_matrix(make) -> None:
    vectors = [make(np.array(row, dtype=np.float32)) for row in ([3.0, 4.0], [0.0, 0.0], [math.inf, 1.0], [0.0, 2.0])]
    whole = stack(vectors, above=1)
    assert whole.shape == (5, 2) and whole.dtype == vectors[0].dtype
    rows = whole[1:]
    assert norms(rows)[[0, 1, 3]].tolist() == [5.0, 0.0, 2.0] and not np.isfinite(norms(rows)[2])
    assert to_floats(weighted_sum(rows, np.array([0.5, 0.0, 0.0, 1.0]))).tolist() == [1.5, 4.0]
    kept = rows[[0, 3]]
    scale_rows(kept, np.array([0.2, 0.5]))
    assert np.allclose(to_floats(kept), [[0.6, 0.8], [0.0, 1.0]]) and kept.dtype == vectors[0].dtype


def test_what_is_compared_stays_as_it_was() -> None:
    for units in (directions(3, 5000)[0], torch.tensor(directions(3, 5000)[0])):
        before = to_floats(units)
        compare(units, units[0], seed=0, size=256)
        assert np.array_equal(to_floats(units), before)
