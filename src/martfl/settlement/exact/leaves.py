"""The leaves of a sealed update: which values lie where, how each is written, what K makes of them.

Leaf l holds the values of 256 scalars, s to a scalar, as codes of B bytes, big endian, under a pad. B is 1, 2 or 4, the
first that holds b bits, so that no code lies across two words of the pad.

    code(v)   = v + 2^(b−1)                  decode(code) = clamp(code, 1, 2^b − 1) − 2^(b−1)
    pad_l     = keccak(K ‖ l ‖ 0) ‖ keccak(K ‖ l ‖ 1) ‖ …         integers as words of 32 bytes
    sealed_l  = codes XOR pad_l
    ρ_l       = (keccak(K ‖ l ‖ 2^256 − 1)·2^256 + keccak(K ‖ l ‖ 2^256 − 2)) mod r

Every string of bytes decodes to values in range: whatever a seller seals, the slots cannot trade with each other.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from martfl.arrays import Integers
from martfl.settlement.exact.layout import SlotLayout
from martfl.settlement.exact.plain import ORDER
from martfl.settlement.hash_tree import check_index
from martfl.settlement.keccak import keccak, word

LEAF_SCALARS = 256
_HIGH, _LOW = word((1 << 256) - 1), word((1 << 256) - 2)


@dataclass(frozen=True, kw_only=True)
class LeafShape:
    """What follows from the layout and the number of parameters alone."""

    layout: SlotLayout
    parameters: int
    scalars: int = LEAF_SCALARS  # in a leaf

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return -(-self.layout.points(self.parameters) // self.scalars)

    @property
    def sealed_bytes(self) -> int:
        """Sealed bytes of all leaves; they lie one behind the other."""
        return self.parameters * code_bytes(self.layout.bits)

    def points(self, leaf: int) -> slice:
        """The generators of leaf number `leaf`."""
        first = check_index(leaf, leaves=self.leaves) * self.scalars
        return slice(first, min(first + self.scalars, self.layout.points(self.parameters)))

    def values(self, leaf: int) -> slice:
        """The parameters of leaf number `leaf`."""
        points = self.points(leaf)
        slots = self.layout.slots
        return slice(points.start * slots, min(points.stop * slots, self.parameters))

    def sealed(self, leaf: int) -> slice:
        """Where leaf number `leaf` lies among the sealed bytes."""
        values, size = self.values(leaf), code_bytes(self.layout.bits)
        return slice(values.start * size, values.stop * size)


def code_bytes(bits: int) -> int:
    """B: bytes of one value."""
    return 1 if bits <= 8 else 2 if bits <= 16 else 4


def seal_leaf(values: Integers, *, bits: int, secret: bytes, leaf: int) -> bytes:
    """Codes under the pad; values are in range."""
    size = code_bytes(bits)
    codes = (values.astype(np.int64) + (1 << (bits - 1))).astype(">u8")  # (n,)
    plain = codes.view(np.uint8).reshape(-1, 8)[:, 8 - size :].reshape(-1)  # (n·B,)
    return (plain ^ _pad(secret, leaf, plain.size)).tobytes()


def open_leaf(sealed: bytes, *, bits: int, secret: bytes, leaf: int) -> Integers:
    """The values that `sealed` decodes to under K, always in range."""
    size = code_bytes(bits)
    plain = np.frombuffer(sealed, np.uint8) ^ _pad(secret, leaf, len(sealed))  # (n·B,)
    wide = np.zeros((len(plain) // size, 8), np.uint8)
    wide[:, 8 - size :] = plain.reshape(-1, size)
    codes = wide.view(">u8").reshape(-1).astype(np.int64)  # (n,), below 2^32
    values = np.clip(codes, 1, (1 << bits) - 1) - (1 << (bits - 1))
    return values.astype(value_type(bits))


def value_type(bits: int) -> type[np.signedinteger]:
    """The machine integer of updates of this many bits."""
    return np.int16 if bits <= 16 else np.int32


def blinding(secret: bytes, leaf: int) -> int:
    """ρ_l: 512 bits of hash modulo r, so that no value is likelier than another."""
    prefix = secret + word(leaf)
    return int.from_bytes(keccak(prefix + _HIGH) + keccak(prefix + _LOW), "big") % ORDER


def _pad(secret: bytes, leaf: int, size: int) -> npt.NDArray[np.uint8]:
    prefix = secret + word(leaf)
    pad = b"".join([keccak(prefix + counter) for counter in _counters(-(-size // 32))])
    return np.frombuffer(pad, np.uint8)[:size]


@cache
def _counters(count: int) -> tuple[bytes, ...]:
    return tuple(word(i) for i in range(count))
