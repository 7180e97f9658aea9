"""The public generators G_0, G_1, … and H of BLS12-381 G1, by hash-to-curve: nobody knows a relation between them.

    G_i = hash_to_curve("G" ‖ i as 8 bytes),   H = hash_to_curve("H")      (RFC 9380, suite SHA-256 SSWU RO)

Generator i does not depend on how many there are, so one cache file serves every model and only grows.
"""

import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from py_arkworks_bls12381 import G1Point

from martfl import waiting
from martfl.settlement.errors import SettlementError
from martfl.settlement.exact import blst, plain
from martfl.settlement.exact.blst import POINT_WORDS, Points
from martfl.settlement.exact.cache_file import CacheFile, whole_steps

DOMAIN = b"MARTFL-V01-CS01-with-BLS12381G1_XMD:SHA-256_SSWU_RO_"
BLOCK_POINTS = 512  # 96 bytes each: x, then y, in Montgomery form, so that a loaded file is ready for use
FILE = CacheFile(
    name="generators-v2.bin", magic=b"MARTFLG1", version=2, block_bytes=96 * BLOCK_POINTS, pinned="pins.json"
)
MANY = 512  # blocks that somebody who waits for them is told of
log = logging.getLogger(__name__)
Progress = Callable[[int, int], None]  # (generators made, generators to make)


@dataclass(frozen=True, repr=False, eq=False)
class Generators:
    """The first generators, whole blocks of them, as blst keeps points.

    G_i = hash_to_curve("G" ‖ i)

    Examples:
        >>> generators = Generators.load(3)
        >>> len(generators.points(3)), len(generators.coordinates(slice(0, 1))[0])
        (3, 96)
    """

    affine: Points  # (at least as many as asked for, 12)

    @classmethod
    def load(cls, count: int, *, progress: Progress | None = None, folder: Path | None = None) -> "Generators":
        """At least `count` generators from the cache in `folder`; what is missing or corrupted is made and stored."""
        if count < 1:
            raise SettlementError(f"at least one generator, got {count}")
        needed = -(-count // BLOCK_POINTS)
        blocks = FILE.load(needed, _Making(whole_steps(needed), progress), folder=folder)
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


@dataclass
class _Making:
    """Makes blocks up to `wanted`, and tells how far that is."""

    wanted: int
    progress: Progress | None
    begun: int | None = None  # the first block that was missing

    def __call__(self, first: int, stop: int) -> list[bytes]:
        if self.begun is None:
            self.begun = first
            if self.progress is None and self.wanted - first > MANY:
                log.warning("making %d generators, once: this takes minutes", (self.wanted - first) * BLOCK_POINTS)
        return make_blocks(first, stop, progress=self._listener(first - self.begun))

    def _listener(self, before: int) -> Progress | None:
        tell, total = self.progress, (self.wanted - (self.begun or 0)) * BLOCK_POINTS
        return None if tell is None else lambda done, _: tell(before * BLOCK_POINTS + done, total)


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
            made = (len(blocks) * BLOCK_POINTS, (stop - first) * BLOCK_POINTS)
            waiting.tell("making commitment generators", *made)
            if progress is not None:
                progress(*made)
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
