"""Fixed-point numbers: real updates and models as integers at a public scale. Numpy only.

    update   q = round(u / δ)            |q| ≤ 2^(b−1) − 1     (symmetric; ties to even)
    model    W = round(x · 2^16 / δ)     so that W + Σ k_i q_i needs no rounding when Σ k_i = 2^16

Values beyond the range follow a rule that the provider names: `refuse` raises, `clip` saturates and counts.
NaN and infinity are always refused.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from martfl.arrays import Floats, Integers
from martfl.settlement.errors import RangeError, SettlementError
from martfl.settlement.weights import WEIGHT_TOTAL

Overflow = Literal["refuse", "clip"]

MAX_BITS = 32  # a model of 2^16 · 2^31 still fits an int64 many times over
_EXACT = 1 << 53  # float64 holds every integer up to here


@dataclass(frozen=True)
class Quantised:
    """Quantised values and how many of them were clipped."""

    values: Integers  # (m,) int16 where b ≤ 16, else int32
    clipped: int


@dataclass(frozen=True, kw_only=True)
class FixedPoint:
    """A public scale δ and bit width b.

    q = round(u / δ), |q| ≤ 2^(b−1) − 1; W = round(x · 2^16 / δ)

    Examples:
        >>> terms = FixedPoint(scale=0.5, bits=4)
        >>> terms.bound, terms.limit
        (7, 3.5)
        >>> found = terms.quantise([1.0, -9.0], overflow='clip')
        >>> found.values.tolist(), found.clipped, terms.dequantise(found.values).tolist()
        ([2, -7], 1, [1.0, -3.5])
        >>> terms.dequantise_model(terms.quantise_model([0.25])).tolist()
        [0.25]
    """

    scale: float
    bits: int = 16

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise SettlementError(f"the scale must be positive and finite, got {self.scale}")
        if not 2 <= self.bits <= MAX_BITS:
            raise SettlementError(f"the bit width lies in 2..{MAX_BITS}, got {self.bits}")

    @property
    def bound(self) -> int:
        """The largest |q|: 2^(b−1) − 1."""
        return update_bound(self.bits)

    @property
    def limit(self) -> float:
        """The largest representable |u|."""
        return self.bound * self.scale

    def quantise(self, update: npt.ArrayLike, *, overflow: Overflow) -> Quantised:
        """q = round(u/δ); `overflow` decides about |q| > 2^(b−1) − 1."""
        if overflow not in get_args(Overflow):
            raise SettlementError(f"overflow must be one of {get_args(Overflow)}, got {overflow!r}")
        with np.errstate(over="ignore"):  # an infinite quotient is beyond the range like any other
            steps = np.rint(_finite(update) / self.scale)  # (m,) float64
        outside = np.abs(steps) > self.bound
        beyond = int(np.count_nonzero(outside))
        if beyond and overflow == "refuse":
            first = int(np.argmax(outside))
            raise RangeError(
                f"updates must satisfy |u| ≤ {self.limit:.6g} (δ = {self.scale:.6g}, {self.bits} bits); "
                f"{beyond} of {steps.size} do not, the first at {first} is {np.ravel(update)[first]:.6g}"
            )
        dtype = np.int16 if self.bits <= 16 else np.int32
        return Quantised(np.clip(steps, -self.bound, self.bound).astype(dtype), beyond)

    def dequantise(self, values: Integers) -> Floats:
        """u ≈ q·δ."""
        return np.asarray(values, np.float64) * self.scale

    def quantise_model(self, model: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """W = round(x·2^16/δ), exact in float64 or refused."""
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.rint(_finite(model) * WEIGHT_TOTAL / self.scale)  # (m,)
        largest = float(np.max(np.abs(steps), initial=0.0))
        if largest > _EXACT:
            raise RangeError(f"model values must satisfy |x|·2^16/δ ≤ 2^53, the largest is {largest:.6g}")
        return steps.astype(np.int64)

    def dequantise_model(self, values: Integers) -> Floats:
        """x = W·δ/2^16."""
        return np.asarray(values, np.float64) * (self.scale / WEIGHT_TOTAL)


def update_bound(bits: int) -> int:
    """The largest |q| of b bits, symmetric: 2^(b−1) − 1."""
    return (1 << (bits - 1)) - 1


def scale_for(largest: float, *, bits: int = 16) -> float:
    """The smallest power of two δ with |q| ≤ 2^(b−1) − 1 for every |u| ≤ `largest`; a power of two divides exactly.

    δ = 2^⌈log2(largest / (2^(b−1) − 1))⌉

    Examples:
        >>> delta = scale_for(0.5)
        >>> FixedPoint(scale=delta).quantise([0.5, -0.25], overflow='refuse').values.tolist()
        [16384, -8192]
    """
    if not (math.isfinite(largest) and largest > 0):
        raise SettlementError(f"the largest value must be positive and finite, got {largest}")
    return 2.0 ** math.ceil(math.log2(largest / update_bound(bits)))


def _finite(values: npt.ArrayLike) -> Floats:
    flat = np.asarray(values, np.float64)
    if flat.ndim != 1 or flat.size == 0:
        raise SettlementError(f"values must be one flat vector that is not empty, got shape {flat.shape}")
    bad = ~np.isfinite(flat)
    if bad.any():
        first = int(np.argmax(bad))
        raise RangeError(f"values must be finite: {int(bad.sum())} are not, the first at {first} is {flat[first]}")
    return flat
