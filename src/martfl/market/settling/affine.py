"""The numbers of sampled markets: the paper's affine quantisation, as the roles use numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Integers
from martfl.settlement.fixed_point import Overflow, Quantised
from martfl.settlement.sampled import Affine


@dataclass(frozen=True)
class AffineNumbers:
    """The affine quantisation of updates, as the roles use numbers."""

    affine: Affine

    @property
    def scale(self) -> float:
        """The real value of one unit."""
        return float(self.affine.scale)

    @property
    def bits(self) -> int:
        """The width of the unsigned values with a sign bit, as files keep them."""
        return self.affine.bits + 1

    def quantise(self, update: NDArray[np.float64], *, overflow: Overflow) -> Quantised:
        """q of every value."""
        return self.affine.quantise(update, overflow=overflow)

    def dequantise(self, values: Integers) -> NDArray[np.float64]:
        """x = s (q − z)."""
        return self.affine.dequantise(values)
