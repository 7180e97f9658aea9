"""Sums of multiples of generators: blst and py_arkworks alone against the definition, over every kind of window."""

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py_arkworks_bls12381 import G1Point, Scalar

from martfl.settlement import SettlementError
from martfl.settlement.exact import ORDER, blst, plain
from martfl.settlement.exact.sums import bit_lengths, choose_windows, sum_columns, sum_scalars

LOAD = blst.load


@pytest.fixture(params=["blst", "plain"])
def library(request, monkeypatch):
    """Both ways to compute a sum."""
    if request.param == "blst":
        assert LOAD() is not None
    else:
        monkeypatch.setattr(blst, "load", lambda: None)


def multiples(count):
    """1·P, 2·P, … as points of a sum."""
    rows = b"".join(plain.to_affine(G1Point() * Scalar(i + 1)) for i in range(count))
    return np.frombuffer(rows, np.uint64).reshape(count, -1)


POINTS = multiples(40)


def expected(columns, width):
    total = sum(
        (j + 1) * int(v) << (width * number) for number, column in enumerate(columns) for j, v in enumerate(column)
    )
    return G1Point() * Scalar(total % ORDER)


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64])
@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_signed_columns_at_the_ends_of_their_range(library, dtype, count):
    info = np.iinfo(dtype)
    corners = np.array([info.min, info.max, -1, 0, 1, info.min + 1], dtype)
    columns = np.resize(corners, (3, count))
    for threads in (1, 2):
        assert sum_columns(POINTS[:count], columns, width=70, threads=threads) == expected(columns, 70)


@settings(max_examples=40)
@given(st.integers(1, 63), st.integers(1, 40), st.integers(0, 2**32))
def test_every_length_of_integers(bits, count, seed):
    rng = np.random.default_rng(seed)
    columns = rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, (2, count), endpoint=True)
    assert sum_columns(POINTS[:count], columns, width=64) == expected(columns, 64)


@settings(max_examples=40)
@given(st.integers(1, 17), st.integers(0, 2**32))
def test_windows_of_every_width_add_up_to_the_signed_integer(width, seed):
    integers = np.random.default_rng(seed).integers(-(2**62), 2**62, 5)
    starts = range(0, 64, width)
    parts = [LOAD().window_sum(POINTS[:5], integers, start=start, width=min(width, 64 - start)) for start in starts]
    assert plain.multiexp(parts, [1 << start for start in starts]) == expected([integers], 0)


@pytest.mark.parametrize("count", [1, 2, 40])
def test_scalars_that_use_all_bits(library, count):
    scalars = [(ORDER - 1 - 5 * i * i) % ORDER for i in range(count)]
    rows = np.frombuffer(b"".join(s.to_bytes(32, "little") for s in scalars), np.uint8).reshape(-1, 32)
    assert sum_scalars(POINTS[:count], rows, threads=2) == expected([scalars], 0)


def test_nothing_but_zeros_is_the_neutral_element(library):
    assert sum_columns(POINTS, np.zeros((2, 40), np.int16), width=42) == G1Point.identity()


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30))
def test_bit_lengths_never_fall_short(values):
    counted = bit_lengths(np.array(values, np.int64))
    needed = [0 if v == 0 else (v if v > 0 else ~v).bit_length() + 1 for v in values]
    assert counted.sum() == len(values)
    assert counted[0] == needed.count(0)
    assert len(counted) - 1 >= max(needed)
    assert all(counted[b:].sum() >= sum(n >= b for n in needed) for b in range(len(counted)))


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=70), st.integers(1, 8))
def test_windows_cover_the_longest_integer_without_gap_or_overlap(lengths, sums):
    windows = choose_windows(np.array(lengths), sums=sums)
    longest = max((b for b, count in enumerate(lengths) if count), default=0)
    assert [bit for start, size in windows for bit in range(start, start + size)] == list(range(longest))


def test_more_points_are_worth_wider_windows():
    few, many = (choose_windows(np.array([0] * 16 + [count]), sums=1) for count in (100, 10**6))
    assert many[0][1] > few[0][1]


def test_lists_of_different_length_are_refused_not_cut():
    with pytest.raises(SettlementError, match="2 points, 1 factors"):
        plain.multiexp([G1Point(), G1Point()], [1])
    with pytest.raises(SettlementError, match="got 3 and 4"):
        LOAD().window_sum(POINTS[:4], np.zeros(3, np.int16), start=0, width=8)
    with pytest.raises(SettlementError, match="rows of 20 bits"):
        LOAD().window_sum(POINTS[:4], np.zeros(4, np.int16), start=10, width=10)


def test_affine_points_come_back():
    point = G1Point() * Scalar(12345)
    assert plain.from_affine(plain.to_affine(point)) == point


def test_a_library_without_blst_or_with_wrong_answers_is_not_used(monkeypatch, caplog):
    monkeypatch.setattr(ctypes, "CDLL", lambda path: object())
    assert LOAD.__wrapped__() is None
    assert "does not offer" in caplog.text
    monkeypatch.undo()
    monkeypatch.setattr(blst.Blst, "window_sum", lambda *a, **k: G1Point())
    assert LOAD.__wrapped__() is None
    assert "disagree" in caplog.text


@given(st.lists(st.integers(0, 10**5), min_size=2, max_size=33), st.integers(1, 8), st.integers(0, 2000))
def test_no_other_width_costs_less(lengths, sums, overhead):
    """A window adds every integer that reaches it, then its buckets; so many sums share the windows."""
    bits = max((at for at, count in enumerate(lengths) if count), default=0)

    def cost(windows):
        return sum(sum(lengths[start + 1 :]) + sums * (overhead + 2 * 2**size) for start, size in windows)

    chosen = choose_windows(np.array(lengths), sums=sums, overhead=overhead)
    widths = range(2, 18)
    others = [[(at, min(width, bits - at)) for at in range(0, bits, width)] for width in widths]
    assert chosen in others and cost(chosen) == min(map(cost, others))
