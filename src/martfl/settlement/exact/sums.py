"""Σ_j n_j·G_j for whole vectors of signed integers: Pippenger's buckets, window by window, on every core.

The vector of `layout.py` is s columns of M signed integers, column l weighing 2^(w·l):

    Σ_l 2^(w·l) Σ_windows 2^start Σ_j digit_{l,j,start}·G_j

Packing is thus never carried out: a window lies within a slot, and windows above the longest integer are not
computed at all. Digits that are zero cost nothing, so the price is the number of windows that the *values* fill.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from py_arkworks_bls12381 import G1Point

from martfl.arrays import Integers
from martfl.settlement.exact import blst, plain
from martfl.settlement.exact.blst import Points, Window

_WIDEST = 17  # 12 MB of buckets a thread
_BUCKET_COST = 2  # additions in proportion to 2^width that adding up a window's buckets is worth


def sum_columns(points: Points, columns: Integers, *, width: int, threads: int | None = None) -> G1Point:
    """Σ_l 2^(width·l) Σ_j columns[l, j]·G_j, signed integers."""  # columns: (s, M)
    lengths = bit_lengths(columns)
    windows = choose_windows(lengths, sums=len(columns))
    return _sum(points, columns, windows, width, threads)


def sum_scalars(points: Points, scalars: npt.NDArray[np.uint8], *, threads: int | None = None) -> G1Point:
    """Σ_j scalar_j·G_j for scalars of 32 little-endian bytes that use all their bits, below 2^255."""  # (M, 32)
    lengths = np.zeros(257, np.int64)
    lengths[256] = len(scalars)
    return _sum(points, scalars[None], choose_windows(lengths, sums=1), 0, threads)


def bit_lengths(values: Integers) -> npt.NDArray[np.int64]:
    """How many values need 0, 1, … bits in two's complement, the sign's included; zero needs none."""
    magnitude = np.where(values < 0, ~values, values).astype(np.float64)  # ~v = −v − 1
    length = np.frexp(magnitude)[1] + 1  # rounding can only lengthen
    length[values == 0] = 0
    return np.bincount(np.minimum(length, 8 * values.itemsize).ravel(), minlength=2)


def choose_windows(lengths: npt.NDArray[np.int64], *, sums: int, overhead: int = 0) -> list[Window]:
    """Windows of one width for `sums` sums, the cheapest for integers of these lengths.

    `overhead` is what one more window costs beside its additions, in additions.
    """
    bits = int(np.flatnonzero(lengths).max(initial=0))
    reach = lengths[::-1].cumsum()[::-1]  # reach[b]: integers of b bits or more; a digit at bit b−1 is zero in others

    def cut(width: int) -> list[Window]:
        return [(start, min(width, bits - start)) for start in range(0, bits, width)]

    def cost(width: int) -> int:
        each = [int(reach[start + 1]) + sums * (overhead + _BUCKET_COST * (1 << size)) for start, size in cut(width)]
        return sum(each)

    return cut(min(range(2, _WIDEST + 1), key=cost))


def _sum(
    points: Points, columns: npt.NDArray[np.generic], windows: list[Window], width: int, threads: int | None
) -> G1Point:
    library = blst.load()
    if library is None:
        return plain_sum(points, columns, width)
    jobs = [(column, start, size) for column in range(len(columns)) for start, size in windows]

    def work(job: tuple[int, int, int]) -> G1Point:
        column, start, size = job
        return library.window_sum(points, columns[column], start=start, width=size)

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        partial = list(pool.map(work, jobs))
    return plain.multiexp(partial, [1 << (width * column + start) for column, start, _ in jobs])


def plain_sum(points: Points, columns: npt.NDArray[np.generic], width: int) -> G1Point:
    """Σ_l 2^(width·l) Σ_j columns[l, j]·G_j through py_arkworks alone."""
    row = columns.nbytes // (columns.shape[0] * columns.shape[1])
    factors = [0] * columns.shape[1]
    for number, column in enumerate(columns):
        raw = column.tobytes()
        for j in range(len(factors)):
            integer = int.from_bytes(raw[j * row : (j + 1) * row], "little", signed=True)
            factors[j] += integer << (width * number)
    return plain.multiexp([plain.from_affine(point.tobytes()) for point in points], factors)
