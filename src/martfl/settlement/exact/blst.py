"""blst's arithmetic in BLS12-381 G1, called in the shared library of `ckzg`.

`ckzg` is the Ethereum Foundation's binding of blst, which Python's Ethereum libraries install. Its library exports the
C functions that blst.h documents: assembly, narrow scalars, flat arrays instead of one object a point, and no
interpreter lock while they run. Where they are missing, or disagree with py_arkworks, `load` says so and gives None;
`plain.py` then does the same work slowly.

An affine point is 12 words of 64 bits: x, then y, each x·2^384 mod p (Montgomery form), least word first.
"""

import ctypes
import logging
from collections.abc import Sequence
from ctypes import c_size_t, c_void_p
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from py_arkworks_bls12381 import G1Point, Scalar

from martfl.arrays import Integers
from martfl.settlement.errors import SettlementError

Window = tuple[int, int]  # first bit, number of bits
Points = npt.NDArray[np.uint64]  # (M, 12)
POINT_WORDS = 12
_PROJECTIVE_WORDS = 18
_BUCKET_WORDS = 24
_SERIALISED_BYTES = 96
_ORDER_BITS = 255

log = logging.getLogger(__name__)


class Blst:
    """The few functions that commitments need."""

    def __init__(self, library: ctypes.CDLL) -> None:
        """AttributeError where the library does not export one of them."""
        size, at = c_size_t, c_void_p
        self._hash = _function(library.blst_hash_to_g1, at, at, size, at, size, at, size)
        self._affine = _function(library.blst_p1_to_affine, at, at)
        self._serialise = _function(library.blst_p1_serialize, at, at)
        self._tile = _function(library.blst_p1s_tile_pippenger, at, at, size, at, size, at, size, size)
        self._times = _function(library.blst_p1_mult, at, at, at, size)
        self._from_affine = _function(library.blst_p1_from_affine, at, at)
        self._double = _function(library.blst_p1_double, at, at)
        self._add = _function(library.blst_p1_add_or_double, at, at, at)
        self._affine_serialise = _function(library.blst_p1_affine_serialize, at, at)
        self._is_infinity = _function(library.blst_p1_is_inf, at, gives=ctypes.c_bool)
        self._uncompress = _function(library.blst_p1_uncompress, at, at, gives=ctypes.c_int)
        self._in_group = _function(library.blst_p1_affine_in_g1, at, gives=ctypes.c_bool)

    def hash_to_curve(self, message: bytes, domain: bytes) -> bytes:
        """RFC 9380, suite BLS12381G1_XMD:SHA-256_SSWU_RO_; an affine point."""
        projective, affine = np.empty(_PROJECTIVE_WORDS, np.uint64), np.empty(POINT_WORDS, np.uint64)
        self._hash(projective.ctypes.data, message, len(message), domain, len(domain), None, 0)
        self._affine(affine.ctypes.data, projective.ctypes.data)
        return affine.astype("<u8").tobytes()

    def window_sum(self, points: Points, integers: Integers, *, start: int, width: int) -> G1Point:
        """Σ_j digit_j·P_j: digit_j is the signed (Booth) digit of integer j at bits start … start+width−1.

        Row j of `integers` is one integer in two's complement. Σ_start 2^start·digit is the signed integer itself once
        the windows reach its sign bit, because Booth's digits telescope.
        """
        count, row = len(points), integers.nbytes // len(integers)
        if len(integers) != count or start + width > 8 * row or not integers.flags.c_contiguous:
            raise SettlementError(
                f"as many rows of {start + width} bits or more as points, got {len(integers)} and {count}"
            )
        result = np.empty(_PROJECTIVE_WORDS, np.uint64)
        self._window(result, *_two_rows(points, integers), start, width)
        return self._to_point(result)

    def columns_sum(
        self,
        points: Points,
        columns: Integers,
        *,
        windows: Sequence[Window],
        width: int,
        blinding: tuple[bytes, int],
    ) -> G1Point:
        """Σ_l 2^(width·l) Σ_j columns[l, j]·P_j + ρ·H for a few hundred points: everything stays in blst.

        By Horner's rule over the windows of all columns, the highest first; `blinding` is H as an affine point, and ρ.
        """
        total, part = np.zeros((2, _PROJECTIVE_WORDS), np.uint64)  # infinity
        sum_at, part_at = total.ctypes.data, part.ctypes.data
        places = [(width * c + start, c, start, size) for c in range(len(columns)) for start, size in windows]
        above = 0
        for place, column, start, size in sorted(places, reverse=True):
            for _ in range(above - place):
                self._double(sum_at, sum_at)
            self._window(part, *_two_rows(points, columns[column]), start, size)
            self._add(sum_at, sum_at, part_at)
            above = place
        affine, factor = blinding
        self._from_affine(part_at, affine)
        self._times(part_at, part_at, factor.to_bytes(32, "little"), _ORDER_BITS)
        self._add(sum_at, sum_at, part_at)
        return self._to_point(total)

    def uncompress(self, data: bytes) -> bytes | None:
        """48 bytes as x and y, big endian; None where they are no finite point of the subgroup, canonically written."""
        affine, xy = np.empty(POINT_WORDS, np.uint64), ctypes.create_string_buffer(_SERIALISED_BYTES)
        wrong = self._uncompress(affine.ctypes.data, data)
        if wrong or not affine.any() or not self._in_group(affine.ctypes.data):
            return None
        self._affine_serialise(xy, affine.ctypes.data)
        return xy.raw

    def coordinates(self, points: Points) -> bytes:
        """x and y of each point, 96 bytes, big endian."""
        affine = np.ascontiguousarray(points)
        xy = ctypes.create_string_buffer(_SERIALISED_BYTES * len(affine))
        source, target = affine.ctypes.data, ctypes.addressof(xy)
        for number in range(len(affine)):
            self._affine_serialise(target + _SERIALISED_BYTES * number, source + _SERIALISED_BYTES * number)
        return xy.raw

    def _window(
        self, result: npt.NDArray[np.uint64], points: Points, integers: Integers, start: int, width: int
    ) -> None:
        count, row = len(points), integers.nbytes // len(integers)
        buckets = np.zeros(_BUCKET_WORDS << (width - 1), np.uint64)
        each_point, each_integer = ((c_void_p * 2)(a.ctypes.data, None) for a in (points, integers))
        self._tile(result.ctypes.data, each_point, count, each_integer, 8 * row, buckets.ctypes.data, start, width)

    def _to_point(self, projective: npt.NDArray[np.uint64]) -> G1Point:
        if self._is_infinity(projective.ctypes.data):
            return G1Point.identity()
        xy = ctypes.create_string_buffer(_SERIALISED_BYTES)
        self._serialise(xy, projective.ctypes.data)
        return G1Point.from_xy_bytes_unchecked_be(xy.raw)


def _two_rows(points: Points, integers: Integers) -> tuple[Points, Integers]:
    """A single point gets a companion of factor zero: blst reads ahead."""
    if len(points) > 1:
        return points, integers
    return np.repeat(points, 2, axis=0), np.concatenate([integers, np.zeros_like(integers)])


@cache
def load() -> Blst | None:
    """The library, tried out; None where it cannot be used."""
    try:
        import ckzg

        blst = Blst(ctypes.CDLL(ckzg.__file__))
    except (ImportError, OSError, AttributeError) as error:
        log.warning("commitments are slow here: ckzg does not offer blst's functions (%s)", error)
        return None
    if not _agrees(blst):
        log.warning("commitments are slow here: blst in ckzg and py_arkworks disagree")
        return None
    return blst


def _agrees(blst: Blst) -> bool:
    """Whether three points and three signed integers give what py_arkworks gives, and a point comes back."""
    names, factors = [b"a", b"b", b"c"], [-5, 3, -(1 << 15)]
    points = np.frombuffer(b"".join(blst.hash_to_curve(name, b"check") for name in names), np.uint64).reshape(3, -1)
    integers = np.array(factors, np.int32)
    low, high = (blst.window_sum(points, integers, start=at, width=10) for at in (0, 10))
    plain = [G1Point.hash_to_curve(name, b"check") for name in names]
    known = [point * Scalar(abs(f)) for point, f in zip(plain, factors, strict=True)]
    total = known[1] - known[0] - known[2]
    hidden = (points[0].tobytes(), 7)
    whole = blst.columns_sum(points, integers[None], windows=[(0, 10), (10, 10)], width=0, blinding=hidden)
    xy = bytes(plain[0].to_xy_bytes_be())
    same = blst.uncompress(bytes(plain[0].to_compressed_bytes())) == xy == blst.coordinates(points)[:96]
    return bool(same and low + high * Scalar(1 << 10) == total and whole == total + plain[0] * Scalar(7))


def _function(function: Any, *arguments: type, gives: type | None = None) -> Any:
    function.argtypes, function.restype = list(arguments), gives
    return function
