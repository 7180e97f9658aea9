"""How signed integers are packed into scalars, and why two different vectors never share a packing.

    scalar_j = Σ_l v_{s·j+l} · 2^(w·l)  mod r,     v signed, s ≤ 6 slots of w bits, s·w ≤ 254 < log2 r

The packing is *linear over signed integers*: there is no offset in the committed value, so

    C(W^{t−1}) + Σ k_i C(q_i) = C(W^{t−1} + Σ k_i q_i)

and the contract's whole arithmetic is one multi-scalar multiplication, with no correction term.

Injective. Let v ≠ v' satisfy |v_l|, |v'_l| ≤ 2^(w−1) − 1 and d = v − v', so |d_l| ≤ 2^w − 2. At the lowest l with
d_l ≠ 0, Σ d_l 2^(wl) ≡ d_l 2^(wl) ≢ 0 mod 2^(w(l+1)): the integers differ. And |Σ d_l 2^(wl)| ≤ (2^w − 2)(2^(ws) − 1)/
(2^w − 1) < 2^254 < r: they differ mod r too. *Out of range the claim fails*: (v_l + 2^w, v_{l+1} − 1) packs like
(v_l, v_{l+1}). So every verifier checks every slot's range before it computes anything.

Bounds. With |q| ≤ 2^(b−1) − 1, Σ k_i = 2^16 and |W^0| ≤ B_0, after t ≤ T epochs

    |Σ k_i q_i| ≤ 2^16 (2^(b−1) − 1) = A,     |W^t| ≤ B_0 + T·A = B ≤ 2^(w−1) − 1

w is the smallest width that holds B; s = ⌊254/w⌋, at most 6, as many as the contract unpacks. A model outside B is
refused; nothing ever wraps.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from martfl.arrays import Integers
from martfl.settlement.errors import RangeError, SettlementError
from martfl.settlement.fixed_point import MAX_BITS, update_bound
from martfl.settlement.weights import WEIGHT_TOTAL

SCALAR_BITS = 254  # the group order r lies between 2^254 and 2^255
MAX_SLOTS = 6  # parameters that the contract unpacks from one scalar
MAX_WIDTH = 62  # slots are computed in int64
# Six slots of 42 bits: 512 epochs at full swing from a first model of 512 times the range of an update.
DEFAULT_EPOCHS = 512
DEFAULT_INITIAL_BOUND = 1 << 40


@dataclass(frozen=True, kw_only=True)
class SlotLayout:
    """Public terms of the exact scheme: bit width of updates, longest run, bound of the initial model.

    A = 2^16·(2^(b−1) − 1), B = B_0 + T·A, w = bits of B and a sign, s = min(6, ⌊254 / w⌋)

    Examples:
        >>> layout = SlotLayout(bits=16)
        >>> layout.update_bound, layout.width, layout.slots, layout.points(2410)
        (32767, 42, 6, 402)
    """

    bits: int = 16
    epochs: int = DEFAULT_EPOCHS
    initial_bound: int = DEFAULT_INITIAL_BOUND
    most_slots: int = MAX_SLOTS

    def __post_init__(self) -> None:
        if not 2 <= self.bits <= MAX_BITS:
            raise SettlementError(f"the bit width lies in 2..{MAX_BITS}, got {self.bits}")
        if self.epochs < 1 or self.initial_bound < 0:
            raise SettlementError(f"epochs ≥ 1 and initial bound ≥ 0, got {self.epochs} and {self.initial_bound}")
        if self.model_bound > (1 << (MAX_WIDTH - 1)) - 1:
            raise RangeError(f"the model's bound must stay below 2^{MAX_WIDTH - 1}, got {self.model_bound}")

    @property
    def update_bound(self) -> int:
        """The largest |q_i|."""
        return update_bound(self.bits)

    @property
    def aggregate_bound(self) -> int:
        """A: the largest |Σ k_i q_i| of one epoch."""
        return WEIGHT_TOTAL * self.update_bound

    @property
    def model_bound(self) -> int:
        """B: the largest |W^t| within the stated number of epochs."""
        return self.initial_bound + self.epochs * self.aggregate_bound

    @property
    def slots(self) -> int:
        """s: parameters in one scalar."""
        return min(self.most_slots, SCALAR_BITS // self.width)

    @property
    def width(self) -> int:
        """w: bits of a slot; the fewest that hold B and a sign, since every bit costs multi-scalar work."""
        return self.model_bound.bit_length() + 1

    def points(self, parameters: int) -> int:
        """Generators that a vector of `parameters` values needs."""
        if parameters < 1:
            raise SettlementError(f"a model has at least one parameter, got {parameters}")
        return -(-parameters // self.slots)

    def check_update(self, values: Integers, *, parameters: int | None = None) -> Integers:
        """A vector of integers with |q| ≤ 2^(b−1) − 1."""
        return _check(values, "update", self.update_bound, parameters)

    def check_initial(self, values: Integers) -> npt.NDArray[np.int64]:
        """The first model: |W^0| ≤ B_0."""
        return _check(values, "initial model", self.initial_bound, None).astype(np.int64, copy=False)

    def check_step(self, values: Integers, *, parameters: int) -> npt.NDArray[np.int64]:
        """The change of one epoch: |Σ k_i q_i| ≤ A."""
        return _check(values, "step", self.aggregate_bound, parameters).astype(np.int64, copy=False)

    def check_model(self, values: Integers, *, parameters: int | None = None) -> npt.NDArray[np.int64]:
        """A vector of integers with |W| ≤ B."""
        return _check(values, "model", self.model_bound, parameters).astype(np.int64, copy=False)


def largest_magnitude(values: Integers) -> int:
    """max |v| as a Python integer; safe at the most negative machine integer."""
    return max(int(values.max()), -int(values.min()))


def _check(values: Integers, what: str, bound: int, parameters: int | None) -> Integers:
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind != "i":
        raise SettlementError(f"{what}: one flat vector of signed integers, got shape {array.shape} of {array.dtype}")
    if parameters is not None and array.size != parameters:
        raise SettlementError(f"{what}: {parameters} parameters expected, got {array.size}")
    if largest_magnitude(array) > bound:
        first = int(np.argmax((array > bound) | (array < -bound)))
        raise RangeError(f"{what}: every value must satisfy |v| ≤ {bound}, value {first} is {array[first]}")
    return array
