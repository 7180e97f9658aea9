"""Affine quantisation with an ε-widened range, and the paper's equations (4) and (6) in exact integers.

    s = (b − a + 2ε) / (2^bits − 1),   z = ⌊−(a − ε)/s + ½⌋,   q = ⌊x/s + ½⌋ + z,   x ≈ s (q − z)

(The paper floors x/s; rounding to the nearest keeps the training free of drift.) Weights are integers K with
K^s = 2^−16 and K^z = 0, so M_3 = M_4 = 0. Old and new model share one quantisation. With α = ⌊2^η K^s U^s/U^s' + ½⌋ and
β = ⌊2^η U^s'/W^s + ½⌋:

    2^η U' + Ra = 2^η z_a + 2^(η−1) + α (M_1 − M_2),   M_1 = Σ K_i q_i,  M_2 = z_u Σ K_i,   0 ≤ Ra < 2^η    (4)
    2^η W' + Ru = 2^η W   + 2^(η−1) + β (U' − z_a),                                         0 ≤ Ru < 2^η    (6)

The ½ and the remainders make both divisions exact. The aggregate's range is the update's own range, widened once
more, so U' cannot leave it; a W' outside the model's range is refused.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

import numpy as np
import numpy.typing as npt

from martfl.arrays import Floats, Integers
from martfl.settlement.errors import RangeError, SettlementError
from martfl.settlement.fixed_point import Overflow, Quantised
from martfl.settlement.sampled.statement import Constants, Shape
from martfl.settlement.weights import WEIGHT_TOTAL, check_weights

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Affine:
    """x ≈ scale · (q − zero), q in 0..2^bits − 1.

    s = (b − a + 2ε) / (2^bits − 1), z = ⌊−(a − ε)/s + ½⌋, q = ⌊x/s + ½⌋ + z

    Examples:
        >>> terms = Affine.over(-1.0, 1.0, bits=12, epsilon=0.0)
        >>> found = terms.quantise([-1.0, 0.0, 0.5])
        >>> found.values.tolist(), terms.dequantise(found.values).round(3).tolist()
        ([1, 2048, 3072], [-1.0, 0.0, 0.5])
    """

    scale: Fraction
    zero: int
    bits: int

    @classmethod
    def over(cls, low: float | Fraction, high: float | Fraction, *, bits: int, epsilon: float | Fraction) -> "Affine":
        """The quantisation of [low − ε, high + ε]."""
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise SettlementError(f"a range needs low < high, both finite, got [{low}, {high}]")
        if not 0 <= epsilon < math.inf:
            raise SettlementError(f"ε is finite and not negative, got {epsilon}")
        a, b = Fraction(low) - Fraction(epsilon), Fraction(high) + Fraction(epsilon)
        scale = (b - a) / ((1 << bits) - 1)
        zero = _nearest(-a / scale)
        if not 0 <= zero < 1 << bits:
            raise SettlementError(f"the range must contain 0, got [{low}, {high}]")
        return cls(scale, zero, bits)

    @property
    def low(self) -> Fraction:
        """The real value of q = 0."""
        return -self.zero * self.scale

    @property
    def high(self) -> Fraction:
        """The real value of q = 2^bits − 1."""
        return ((1 << self.bits) - 1 - self.zero) * self.scale

    def quantise(self, values: npt.ArrayLike, *, overflow: Overflow = "refuse") -> Quantised:
        """q of every value; what lies outside is refused, or clipped and counted."""
        if overflow not in get_args(Overflow):
            raise SettlementError(f"overflow must be one of {get_args(Overflow)}, got {overflow!r}")
        flat = _finite(values)
        with np.errstate(over="ignore"):
            steps = np.floor(flat / float(self.scale) + 0.5) + self.zero  # (m,)
        top = (1 << self.bits) - 1
        beyond = int(np.count_nonzero((steps < 0) | (steps > top)))
        if beyond and overflow == "refuse":
            raise RangeError(
                f"values must lie in [{float(self.low):.6g}, {float(self.high):.6g}]; {beyond} of {flat.size} do not, "
                f"they reach from {flat.min():.6g} to {flat.max():.6g}"
            )
        return Quantised(np.clip(steps, 0, top).astype(np.int64), beyond)

    def dequantise(self, values: Integers) -> Floats:
        """x = s (q − z)."""
        return (np.asarray(values, np.float64) - self.zero) * float(self.scale)


@dataclass(frozen=True, kw_only=True)
class Quantisation:
    """A market's three quantisations and η; fixed for its life.

    α = ⌊2^η K^s U^s/U^s' + ½⌋, β = ⌊2^η U^s'/W^s + ½⌋

    Examples:
        >>> shape = Shape(providers=3, samples=4)
        >>> terms = Quantisation.symmetric(shape, update_limit=0.5, model_limit=4.0, epsilon=1e-3)
        >>> terms.constants().update_zero, terms.error_bound() < 2e-4
        (2048, True)
    """

    update: Affine
    aggregate: Affine
    model: Affine
    eta: int

    def __post_init__(self) -> None:
        c = self.constants()
        widest = max(
            (1 << self.eta) << max(self.aggregate.bits, self.model.bits),
            c.alpha * WEIGHT_TOTAL << self.update.bits,
            c.beta << self.aggregate.bits,
        )
        if widest >= 1 << 61 or not (c.alpha and c.beta):
            raise SettlementError(f"α = {c.alpha}, β = {c.beta} must be positive and all terms below 2^61: {widest}")

    @classmethod
    def symmetric(cls, shape: Shape, *, update_limit: float, model_limit: float, epsilon: float) -> "Quantisation":
        """Updates in ±`update_limit`, models in ±`model_limit`, both widened by ε."""
        update = Affine.over(-update_limit, update_limit, bits=shape.update_bits, epsilon=epsilon)
        aggregate = Affine.over(update.low, update.high, bits=shape.aggregate_bits, epsilon=epsilon)
        model = Affine.over(-model_limit, model_limit, bits=shape.model_bits, epsilon=epsilon)
        return cls(update=update, aggregate=aggregate, model=model, eta=shape.eta)

    def constants(self) -> Constants:
        """α, β, z_u, z_a."""
        unit = 1 << self.eta
        alpha = _nearest(unit * self.update.scale / (WEIGHT_TOTAL * self.aggregate.scale))
        beta = _nearest(unit * self.aggregate.scale / self.model.scale)
        return Constants(alpha=alpha, beta=beta, update_zero=self.update.zero, aggregate_zero=self.aggregate.zero)

    def error_bound(self) -> float:
        """The largest |dequantised W' − (W + Σ K_i u_i / 2^16)| for a quantised W and real updates in range.

        s_u/2 for the updates; s_a/2 and s_w/2 for the two divisions; α and β are each off by at most ½.
        """
        terms = float(self.update.scale) / 2
        terms += float(self.aggregate.scale) * (0.5 + WEIGHT_TOTAL * (1 << self.update.bits) / (2 << self.eta))
        return terms + float(self.model.scale) * (0.5 + (1 << self.aggregate.bits) / (2 << self.eta))


@dataclass(frozen=True)
class Divided:
    """A quotient with the remainder that makes the division exact."""

    values: Ints  # (m,)
    remainders: Ints  # (m,) in 0..2^η − 1


def aggregate(updates: Sequence[Integers], weights: Sequence[int], *, terms: Quantisation) -> Divided:
    """Equation (4): U' and Ra."""
    units = check_weights(weights, providers=len(updates))
    c, size = terms.constants(), len(updates[0])
    mixed = np.zeros(size, np.int64)  # M_1 − M_2
    for i, (k, q) in enumerate(zip(units, updates, strict=True)):
        checked = check_range(q, bits=terms.update.bits, name=f"update {i}")
        if len(checked) != size:
            raise SettlementError(f"updates have the same length, {size}, update {i} has {len(checked)}")
        mixed += k * (checked - c.update_zero)
    return _divide((c.aggregate_zero << terms.eta) + c.alpha * mixed, terms.eta, bits=terms.aggregate.bits)


def update(model: Integers, aggregated: Integers, *, terms: Quantisation) -> Divided:
    """Equation (6): W' and Ru."""
    old = check_range(model, bits=terms.model.bits, name="model")
    change = check_range(aggregated, bits=terms.aggregate.bits, name="aggregate")
    if len(old) != len(change):
        raise SettlementError(f"model and aggregate have the same length, got {len(old)} and {len(change)}")
    c = terms.constants()
    return _divide((old << terms.eta) + c.beta * (change - c.aggregate_zero), terms.eta, bits=terms.model.bits)


def check_range(values: Integers, *, bits: int, name: str) -> Ints:
    """A flat integer vector in 0..2^bits − 1, as int64."""
    flat = np.asarray(values)
    if flat.ndim != 1 or flat.size == 0 or flat.dtype.kind not in "iu":
        raise SettlementError(f"{name}: one flat integer vector, got {flat.dtype} of shape {flat.shape}")
    low, high = int(flat.min()), int(flat.max())
    if low < 0 or high >= 1 << bits:
        raise RangeError(f"{name}: values lie in 0..{(1 << bits) - 1}, got {low}..{high}")
    return flat.astype(np.int64)


def _divide(scaled: Ints, eta: int, *, bits: int) -> Divided:
    rounded = scaled + (1 << (eta - 1))
    quotient = rounded >> eta
    low, high = int(quotient.min()), int(quotient.max())
    if low < 0 or high >= 1 << bits:
        raise RangeError(f"the result leaves its range 0..{(1 << bits) - 1}: {low}..{high}; choose wider limits")
    return Divided(quotient, rounded - (quotient << eta))


def _nearest(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def _finite(values: npt.ArrayLike) -> Floats:
    flat = np.asarray(values, np.float64)
    if flat.ndim != 1 or flat.size == 0:
        raise SettlementError(f"values must be one flat vector that is not empty, got shape {flat.shape}")
    if not np.isfinite(flat).all():
        raise RangeError(f"values must be finite: {int((~np.isfinite(flat)).sum())} are not")
    return flat
