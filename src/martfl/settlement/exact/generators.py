"""The public generators G_0, G_1, … and H of BLS12-381 G1, by hash-to-curve: nobody knows a relation between them.

    G_i = hash_to_curve("G" ‖ i as 8 bytes),   H = hash_to_curve("H")      (RFC 9380, suite SHA-256 SSWU RO)

Generator i does not depend on how many there are, so one cache file serves every model and only grows.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from py_arkworks_bls12381 import G1Point

from martfl.settlement.errors import SettlementError
from martfl.settlement.exact import blst, plain
from martfl.settlement.exact.blst import POINT_WORDS, Points
from martfl.settlement.exact.cache_file import CacheFile

DOMAIN = b"MARTFL-V01-CS01-with-BLS12381G1_XMD:SHA-256_SSWU_RO_"
BLOCK_POINTS = 512  # 96 bytes each: x, then y, in Montgomery form, so that a loaded file is ready for use
FILE = CacheFile(
    name="generators-v2.bin", magic=b"MARTFLG1", version=2, block_bytes=96 * BLOCK_POINTS, pinned="pins.json"
)
Progress = Callable[[int, int], None]  # (generators made, generators to make)


@dataclass(frozen=True, repr=False, eq=False)
class Generators:
    """The first generators, whole blocks of them, as blst keeps points."""

    affine: Points  # (at least as many as asked for, 12)

    @classmethod
    def load(cls, count: int, *, progress: Progress | None = None, folder: Path | None = None) -> "Generators":
        """At least `count` generators from the cache in `folder`; what is missing or corrupted is made and stored."""
        if count < 1:
            raise SettlementError(f"at least one generator, got {count}")
        blocks = FILE.load(
            -(-count // BLOCK_POINTS),
            lambda first, stop: make_blocks(first, stop, progress=progress),
            folder=folder,
        )
        words = np.frombuffer(b"".join(blocks), "<u8").astype(np.uint64, copy=False)
        return cls(words.reshape(-1, POINT_WORDS))

    def take(self, count: int) -> Points:
        """G_0 … G_{count−1}."""
        if count > len(self.affine):
            raise SettlementError(f"{count} generators are needed, {len(self.affine)} are loaded")
        return self.affine[:count]

    def points(self, count: int) -> list[G1Point]:
        """G_0 … G_{count−1} as py_arkworks' points."""
        return [plain.from_affine(row.astype("<u8").tobytes()) for row in self.take(count)]

    def coordinates(self, where: slice) -> list[bytes]:
        """x and y of some generators, 48 bytes each, big endian."""
        chosen, library = self.take(where.stop)[where], blst.load()
        if library is None:
            return [plain.coordinates(row.astype("<u8").tobytes()) for row in chosen]
        flat = library.coordinates(chosen)
        return [flat[at : at + 96] for at in range(0, len(flat), 96)]


@cache
def blinding_generator() -> G1Point:
    """H."""
    return G1Point.hash_to_curve(b"H", DOMAIN)


def make_blocks(first: int, stop: int, *, progress: Progress | None = None) -> list[bytes]:
    """Blocks first … stop−1, on every core: blst hashes without the interpreter lock."""
    blocks: list[bytes] = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for block in pool.map(make_block, range(first, stop)):
            blocks.append(block)
            if progress is not None:
                progress(len(blocks) * BLOCK_POINTS, (stop - first) * BLOCK_POINTS)
    return blocks


def make_block(number: int) -> bytes:
    """The points of block `number`."""
    first = number * BLOCK_POINTS
    return b"".join(_generator(index) for index in range(first, first + BLOCK_POINTS))


def _generator(index: int) -> bytes:
    message, library = b"G" + index.to_bytes(8, "big"), blst.load()
    if library is None:
        return plain.to_affine(G1Point.hash_to_curve(message, DOMAIN))
    return library.hash_to_curve(message, DOMAIN)
