"""A sketch: as few numbers as wanted, whose cosine is nearly that of the whole vectors.

A count sketch (Charikar, Chen, Farach-Colton, ICALP 2002) whose entries all carry the same load. The vector is cut into
blocks u_0, u_1, … of K coordinates; one order π, and for each block a rotation c_b and K signs D_b, come from the seed:

    S u = Σ_b  rotate(D_b · π(u_b), c_b)                                            K entries, whatever the model

Two coordinates of one block never meet; two of different blocks meet with probability 1/K, with independent signs. So
⟨Su, Sg⟩ has the mean ⟨u, g⟩ and the variance of a count sketch, and every entry is a sum of one coordinate of *each*
block: whoever reads an entry reads at least ⌊m/K⌋ coordinates at once, whatever the seed.

Everything is SHAKE-256 of the seed and sums of float64: the same on every platform, and exact for integers of 32 bits.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Array, Floats
from martfl.scoring.direction import Direction, VectorLike, as_vector, peak_of
from martfl.scoring.errors import ScoringError, UpdateError

SEED_BYTES = 32
MAX_ENTRIES = 1 << 20  # beyond it the rounding of entries would be felt
NORM = 2.0**12  # the length at which an update's sketch is rounded to integers
_SHIFT_BYTES = 16  # for a rotation: its bias is below 2^-100
_LEAST_EXPONENT = -1000


@dataclass(frozen=True)
class Sketch:
    """How everybody sketches in one epoch: a public seed that nobody chose, and the number of entries K.

    E⟨S u, S g⟩ = ⟨u, g⟩

    Examples:
        >>> sketch = Sketch(bytes(32), entries=4)
        >>> values, parameters = sketch.project([1.0, -2.0, 3.0, 4.0, 5.0])
        >>> values.shape, parameters
        ((4,), 5)
    """

    seed: bytes  # (32,)
    entries: int

    def __post_init__(self) -> None:
        if not isinstance(self.seed, bytes) or len(self.seed) != SEED_BYTES:
            raise ScoringError(f"a sketch's seed must be {SEED_BYTES} bytes, got {self.seed!r}")
        if not 1 <= self.entries <= MAX_ENTRIES:
            raise ScoringError(f"a sketch must have 1 to {MAX_ENTRIES} entries, got {self.entries}")

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """π as indices [K]: position k of a permuted block is coordinate order[k]."""
        return np.frombuffer(self._stream(b"order", 8 * self.entries), "<u8").argsort(kind="stable")

    def block(self, index: int) -> tuple[int, Floats]:
        """The rotation of a block and its signs [K], in the order of π."""
        raw = self._stream(b"block" + index.to_bytes(8, "little"), _SHIFT_BYTES + -(-self.entries // 8))
        bits = np.unpackbits(np.frombuffer(raw, np.uint8, offset=_SHIFT_BYTES), bitorder="little")[: self.entries]
        signs = 1.0 - 2.0 * bits.astype(np.float64)
        return int.from_bytes(raw[:_SHIFT_BYTES], "little") % self.entries, signs

    @cached_property
    def dither(self) -> Floats:
        """What is added before entries are rounded down [K], in [0, 1)."""
        return np.frombuffer(self._stream(b"dither", 2 * self.entries), "<u2") * 2.0**-16

    def baseline(self, vector: VectorLike) -> Direction:
        """The acquirer's side: the direction of S g."""
        values, parameters = self.project(vector, name="baseline")
        return _direction(values, parameters)

    def update(self, vector: VectorLike) -> Direction:
        """The provider's side: S u at length NORM, rounded to integers, so that a score of it can be checked exactly.

        `⌊x + d⌋` with the seed's own d has the mean x: small entries beside a huge one are not lost.
        """
        values, parameters = self.project(vector, name="update")
        exact = _direction(values, parameters)
        if exact.is_zero:
            return exact
        (scaled,) = exact.blocks(self.entries, scale=NORM)
        return Direction(np.floor(scaled + self.dither), 1.0, NORM, parameters)

    def project(self, vector: VectorLike, *, name: str = "update") -> tuple[Floats, int]:
        """S x up to a power of two [K], and the number of coordinates; a vector without a direction is refused."""
        total, parameters, largest, exponent = np.zeros(self.entries), 0, 0.0, _LEAST_EXPONENT
        for index, (block, count) in enumerate(_blocks(vector, self.entries, name)):
            largest = max(largest, peak_of(block, name))
            before, exponent = exponent, max(exponent, math.frexp(largest)[1] if largest else exponent)
            total *= 2.0 ** (before - exponent)  # sums stay within range for any finite x; powers of two are exact
            shift, signed = self.block(index)
            signed *= 2.0**-exponent
            signed *= block[self.order]
            total[shift:] += signed[: self.entries - shift]
            total[:shift] += signed[self.entries - shift :]
            parameters += count
        if largest == 0.0:
            raise UpdateError(f"{name} must have a non-zero entry, got {parameters} zeros: a cosine is undefined")
        return total, parameters

    def _stream(self, purpose: bytes, count: int) -> bytes:
        return hashlib.shake_256(self.seed + purpose).digest(count)


def sketch_seed(*, block_hash: bytes, chain_id: int, market: bytes, epoch: int) -> bytes:
    """The seed of an epoch: SHA-256 over a block that came after its commitments, the chain, the market and the epoch.

    All fields have fixed lengths, so that no two epochs of any two markets hash the same bytes.

    Examples:
        >>> sketch_seed(block_hash=bytes(32), chain_id=1, market=bytes(20), epoch=3).hex()[:16]
        'e53879102b5c9b2a'
    """
    if len(block_hash) != 32:
        raise ScoringError(f"a block hash must be 32 bytes, got {len(block_hash)}")
    if len(market) != 20:
        raise ScoringError(f"a market's address must be 20 bytes, got {len(market)}")
    if not (0 <= chain_id < 1 << 256 and 0 <= epoch < 1 << 64):
        raise ScoringError(f"0 ≤ chain id < 2^256 and 0 ≤ epoch < 2^64, got {chain_id} and {epoch}")
    fields = block_hash + chain_id.to_bytes(32, "big") + market + epoch.to_bytes(8, "big")
    return hashlib.sha256(b"martfl scoring sketch 1" + fields).digest()


def _direction(values: Floats, parameters: int) -> Direction:
    """A sketch as a direction; an all-zero sketch of a non-zero vector points nowhere, and has cosine 0 with all."""
    peak = float(np.abs(values).max())
    if peak == 0.0:
        return Direction(values, 1.0, 1.0, parameters)
    return Direction(values, peak, math.sqrt(math.fsum(((values / peak) ** 2).tolist())), parameters)


def _blocks(vector: VectorLike, width: int, name: str) -> Iterator[tuple[Floats, int]]:
    """The vector as float64 in blocks of `width`, the last filled up with zeros, with the coordinates in each.

    Every block is the same memory: use it before you ask for the next.
    """
    block, filled = np.zeros(width), 0
    for chunk in _chunks(vector, name):
        start = 0
        while start < chunk.size:
            count = min(width - filled, chunk.size - start)
            with np.errstate(over="ignore"):  # an infinite entry is refused like any other
                block[filled : filled + count] = chunk[start : start + count]
            start, filled = start + count, filled + count
            if filled == width:
                yield block, width
                filled = 0
    if filled:
        block[filled:] = 0.0
        yield block, filled


def _chunks(vector: VectorLike, name: str) -> Iterator[Array]:
    if isinstance(vector, Iterator):
        yield from (as_vector(chunk, name) for chunk in vector)
    else:
        yield as_vector(vector, name)
