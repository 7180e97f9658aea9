"""The points P_l of a sealed update: each commits to one leaf, all of them add up to the commitment of the whole.

P_l = Σ_j scalar_j·G_{256·l+j} + ρ_l·H          C = Σ_l P_l
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from py_arkworks_bls12381 import G1Point

from martfl.arrays import Integers
from martfl.settlement.errors import PointError
from martfl.settlement.exact import blst, plain
from martfl.settlement.exact.blst import Points, Window
from martfl.settlement.exact.generators import blinding_generator
from martfl.settlement.exact.leaves import LeafShape, blinding
from martfl.settlement.exact.packing import slot_columns
from martfl.settlement.exact.point import COMPRESSED_BYTES, Commitment
from martfl.settlement.exact.sums import bit_lengths, choose_windows, plain_sum

_CHUNK = 1 << 16  # values looked at in one step
_OVERHEAD = 64  # additions that calling blst for one more window is worth
_BATCH = 64  # leaves handed to the threads at a time, so that whoever stops early has not computed the rest


def leaf_points(
    values: Integers, points: Points, *, shape: LeafShape, secret: bytes, threads: int | None = None
) -> Iterator[G1Point]:
    """P_0, P_1, …; `values` are in range, `points` the generators of them all."""
    windows = _windows(values, shape)

    def work(leaf: int) -> G1Point:
        columns = slot_columns(values[shape.values(leaf)], shape.layout)  # (s, n_l)
        own = points[shape.points(leaf)]
        return _leaf_point(own, columns, windows, shape.layout.width, blinding(secret, leaf))

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        for start in range(0, shape.leaves, _BATCH):
            yield from pool.map(work, range(start, min(start + _BATCH, shape.leaves)))


def read_points(data: bytes) -> list[bytes]:
    """The coordinates of compressed points, 48 bytes each; refused unless every one is finite and of the subgroup."""
    library, found = blst.load(), []
    for number in range(len(data) // COMPRESSED_BYTES):
        compressed = data[number * COMPRESSED_BYTES : (number + 1) * COMPRESSED_BYTES]
        xy = library.uncompress(compressed) if library else _plain_uncompress(compressed)
        if xy is None:
            raise PointError(f"part {number} is not a finite point of the subgroup: {compressed.hex()}")
        found.append(xy)
    return found


def sum_points(coordinates: list[bytes]) -> G1Point:
    """Σ P_l of trusted coordinates."""
    return sum((G1Point.from_xy_bytes_unchecked_be(xy) for xy in coordinates), G1Point.identity())


def _leaf_point(points: Points, columns: Integers, windows: list[Window], width: int, hidden: int) -> G1Point:
    library = blst.load()
    if library is None:
        return plain_sum(points, columns, width) + plain.multiexp([blinding_generator()], [hidden])
    return library.columns_sum(points, columns, windows=windows, width=width, blinding=(_affine_h(), hidden))


def _windows(values: Integers, shape: LeafShape) -> list[Window]:
    """The cheapest windows for a leaf of average values; they reach the longest of all."""
    chunks = [bit_lengths(values[at : at + _CHUNK]) for at in range(0, values.size, _CHUNK)]
    lengths = np.zeros(max(map(len, chunks)), np.int64)
    for chunk in chunks:
        lengths[: len(chunk)] += chunk
    return choose_windows(-(-lengths // shape.leaves), sums=shape.layout.slots, overhead=_OVERHEAD)


def _plain_uncompress(data: bytes) -> bytes | None:
    try:
        return Commitment.from_compressed(data).xy
    except PointError:
        return None


@cache
def _affine_h() -> bytes:
    return plain.to_affine(blinding_generator())
