"""Vectors seen as unit vectors, block by block, and the cosine of two of them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from martfl.arrays import Array
from martfl.scoring.errors import UpdateError

VectorLike: TypeAlias = ArrayLike | Iterator[ArrayLike]  # whole, or an iterator of its chunks in order

_BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class Direction:
    """A finite vector seen as a unit vector; normalised block by block, never copied whole."""

    values: Array  # (m,), or (K,) of a sketch
    peak: float  # max|x|: dividing by it first keeps squares within range for any finite x
    norm: float  # ‖x / peak‖
    parameters: int  # m, of the model

    @property
    def size(self) -> int:
        """The numbers that are compared: m, or K of a sketch."""
        return int(self.values.size)

    @property
    def is_zero(self) -> bool:
        """Whether it points nowhere; only a sketch can."""
        return not self.values.any()

    def blocks(self, width: int, *, scale: float = 1.0) -> Iterator[NDArray[np.float64]]:
        """All of scale·x/‖x‖ in blocks of `width`; the last may be shorter."""
        factor = scale / self.norm
        for start in range(0, self.size, width):
            block = np.divide(self.values[start : start + width], self.peak, dtype=np.float64)  # (≤ width,)
            block *= factor
            yield block


def direction(update: VectorLike, *, name: str = "update") -> Direction:
    """Check that `update` has a direction, and give it."""
    values = as_vector(update, name)
    peak = max(peak_of(values[start : start + _BLOCK], name) for start in range(0, values.size, _BLOCK))
    if peak == 0.0:
        raise UpdateError(f"{name} must have a non-zero entry, got {values.size} zeros: a cosine with it is undefined")
    raw = Direction(values, peak, 1.0, values.size)
    norm = math.sqrt(math.fsum(_dot(block, block) for block in raw.blocks(_BLOCK)))
    return Direction(values, peak, norm, values.size)


def as_vector(update: VectorLike, name: str) -> Array:
    """A vector of real numbers, at least one; not looked at yet."""
    if isinstance(update, Iterator):
        raise UpdateError(f"{name} may come in chunks only where it is sketched")
    try:
        values = np.asarray(update)
    except (TypeError, ValueError, RuntimeError):
        raise UpdateError(f"{name} must be a vector of real numbers, got {type(update).__name__}") from None
    if values.dtype.kind not in "fiu":
        raise UpdateError(f"{name} must hold real numbers, got dtype {values.dtype}")
    if values.ndim != 1 or values.size == 0:
        raise UpdateError(f"{name} must be a vector of at least one entry, got shape {values.shape}")
    return values


def peak_of(block: Array, name: str) -> float:
    """max|x|; NaN and infinity are refused."""
    with np.errstate(over="ignore"):
        wide = block.astype(np.float64, copy=False)
    peak = float(np.maximum(wide.max(), -wide.min()))  # NaN wins both
    if not math.isfinite(peak):
        raise UpdateError(f"{name} must be finite, got NaN or infinity")
    return peak


def _dot(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """⟨x, y⟩ without BLAS, whose idle threads would burn as much time again as the sum takes."""
    return float(np.einsum("i,i->", x, y))


def cosine_of(first: Direction, second: Direction) -> float:
    """`cos = Σ x_i·y_i` of two unit vectors, kept within [-1, 1] against rounding."""
    if first.size != second.size:
        raise UpdateError(f"both vectors must have the same length, got {first.size} and {second.size}")
    pairs = zip(first.blocks(_BLOCK), second.blocks(_BLOCK), strict=True)
    return min(1.0, max(-1.0, math.fsum(_dot(x, y) for x, y in pairs)))
