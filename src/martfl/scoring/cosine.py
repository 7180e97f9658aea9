"""The cosine of two updates in the clear, block by block, and the check of a score after delivery."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from martfl.scoring.errors import UpdateError

SCORE_ERROR = 2e-5  # largest difference between a score under encryption and the exact cosine (six sigma)
SCORE_TOLERANCE = 5e-5  # what `check_score` forgives: beyond any honest error, far below any gap that selection sees

_BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class Direction:
    """A finite, non-zero vector seen as a unit vector; normalised block by block, never copied whole."""

    values: NDArray[Any]  # (m,)
    peak: float  # max|x|: dividing by it first keeps squares within range for any finite x
    norm: float  # ‖x / peak‖

    @property
    def size(self) -> int:
        """The number of parameters m."""
        return int(self.values.size)

    def blocks(self, width: int, *, scale: float = 1.0) -> Iterator[NDArray[np.float64]]:
        """All of scale·x/‖x‖ in blocks of `width`; the last may be shorter."""
        factor = scale / self.norm
        for start in range(0, self.size, width):
            block = np.divide(self.values[start : start + width], self.peak, dtype=np.float64)  # (≤ width,)
            block *= factor
            yield block


def direction(update: ArrayLike, *, name: str = "update") -> Direction:
    """Check that `update` has a direction, and give it."""
    values = _as_vector(update, name)
    peak = max(_peak(values[start : start + _BLOCK], name) for start in range(0, values.size, _BLOCK))
    if peak == 0.0:
        raise UpdateError(f"{name} must have a non-zero entry, got {values.size} zeros: a cosine with it is undefined")
    raw = Direction(values, peak, 1.0)
    return Direction(values, peak, math.sqrt(math.fsum(_dot(block, block) for block in raw.blocks(_BLOCK))))


def _as_vector(update: ArrayLike, name: str) -> NDArray[Any]:
    try:
        values = np.asarray(update)
    except (TypeError, ValueError, RuntimeError):
        raise UpdateError(f"{name} must be a vector of real numbers, got {type(update).__name__}") from None
    if values.dtype.kind not in "fiu":
        raise UpdateError(f"{name} must hold real numbers, got dtype {values.dtype}")
    if values.ndim != 1 or values.size == 0:
        raise UpdateError(f"{name} must be a vector of at least one entry, got shape {values.shape}")
    return values


def _peak(block: NDArray[Any], name: str) -> float:
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


def cosine(baseline: ArrayLike, update: ArrayLike) -> float:
    """The score of the paper's section 4: `s = ⟨g, u⟩ / (‖g‖·‖u‖)`."""
    return cosine_of(direction(baseline, name="baseline"), direction(update))


@dataclass(frozen=True)
class ScoreCheck:
    """What a score check found; true when the provider's reply was honest."""

    honest: bool
    reported: float
    expected: float | None  # None: the delivered update has no cosine at all
    tolerance: float

    def __bool__(self) -> bool:
        return self.honest


def check_score(
    reported: float, baseline: ArrayLike, update: ArrayLike, *, tolerance: float = SCORE_TOLERANCE
) -> ScoreCheck:
    """Say whether `reported`, learnt under encryption, is the cosine of the update delivered afterwards.

    A delivered vector without a direction (zero, NaN, another length) cannot have had an honest score; a bad baseline
    is the caller's own and raises.
    """
    if not 0.0 <= tolerance < 2.0:
        raise UpdateError(f"tolerance must lie in [0, 2), got {tolerance}")
    target = direction(baseline, name="baseline")
    try:
        expected = cosine_of(target, direction(update))
    except UpdateError:
        return ScoreCheck(False, float(reported), None, tolerance)
    return ScoreCheck(abs(float(reported) - expected) <= tolerance, float(reported), expected, tolerance)
