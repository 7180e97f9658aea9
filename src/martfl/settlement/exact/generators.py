"""The public generators G_0, G_1, … and H of BLS12-381 G1, by hash-to-curve: nobody knows a relation between them.

    G_i = hash_to_curve("G" ‖ i as 8 bytes),   H = hash_to_curve("H")      (RFC 9380, suite SHA-256 SSWU RO)

Generator i does not depend on how many there are, so one cache file serves every model and only grows.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from py_arkworks_bls12381 import G1Point

from martfl.settlement.errors import SettlementError
from martfl.settlement.exact import cache_file
from martfl.settlement.exact.cache_file import BLOCK_POINTS, POINT_BYTES

DOMAIN = b"MARTFL-V01-CS01-with-BLS12381G1_XMD:SHA-256_SSWU_RO_"
Progress = Callable[[int, int], None]  # (generators made, generators to make)
_PARALLEL_BLOCKS = 4  # fewer are made faster than worker processes start


@dataclass(frozen=True, repr=False)
class Generators:
    """The first generators, whole blocks of them."""

    points: list[G1Point]

    @classmethod
    def load(cls, count: int, *, progress: Progress | None = None, folder: Path | None = None) -> "Generators":
        """At least `count` generators from the cache in `folder`; what is missing or corrupted is made and stored."""
        if count < 1:
            raise SettlementError(f"at least one generator, got {count}")
        needed = cache_file.whole_steps(-(-count // BLOCK_POINTS))
        path = (folder or cache_file.default_folder()) / cache_file.NAME
        blocks = cache_file.read(path, needed)
        if len(blocks) < needed:
            blocks += make_blocks(len(blocks), needed, progress=progress)
            cache_file.write(path, blocks)
        return cls([G1Point.from_xy_bytes_unchecked_be(xy) for block in blocks for xy in _split(block)])

    def take(self, count: int) -> list[G1Point]:
        """G_0 … G_{count−1}."""
        if count > len(self.points):
            raise SettlementError(f"{count} generators are needed, {len(self.points)} are loaded")
        return self.points[:count]


@cache
def blinding_generator() -> G1Point:
    """H."""
    return G1Point.hash_to_curve(b"H", DOMAIN)


def generator(index: int) -> G1Point:
    """G_index."""
    return G1Point.hash_to_curve(b"G" + index.to_bytes(8, "big"), DOMAIN)


def make_blocks(first: int, stop: int, *, progress: Progress | None = None) -> list[bytes]:
    """Blocks first … stop−1, on every core: hash-to-curve holds the interpreter lock, so in processes."""
    total = (stop - first) * BLOCK_POINTS
    blocks: list[bytes] = []
    for block in _computed(range(first, stop)):
        blocks.append(block)
        if progress is not None:
            progress(len(blocks) * BLOCK_POINTS, total)
    return blocks


def _computed(numbers: range) -> Iterator[bytes]:
    workers = os.cpu_count() or 1
    if len(numbers) < _PARALLEL_BLOCKS or workers == 1:
        yield from map(make_block, numbers)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("forkserver")) as pool:
        yield from pool.map(make_block, numbers)


def make_block(number: int) -> bytes:
    """The points of block `number`."""
    first = number * BLOCK_POINTS
    return b"".join(bytes(generator(i).to_xy_bytes_be()) for i in range(first, first + BLOCK_POINTS))


def _split(data: bytes) -> Iterator[bytes]:
    return (data[at : at + POINT_BYTES] for at in range(0, len(data), POINT_BYTES))
