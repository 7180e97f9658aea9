"""Many small integers in one word: the same packing in Merkle leaves, public inputs and commitments.

    k = ⌊252 / bits⌋ slots,   word_e = Σ_t v[e·k + t] · 2^(bits·t)

252 bits fit both a 32-byte word and a BN254 scalar (p > 2^253), so a packed word never wraps in the field. The first
value sits in the lowest bits; missing values of the last word are zero.
"""

from collections.abc import Sequence

from martfl.settlement.errors import RangeError, SettlementError

WORD_BITS = 252


def slots_per_word(bits: int) -> int:
    """k: how many values of `bits` bits one word holds."""
    if not 1 <= bits <= WORD_BITS:
        raise SettlementError(f"a slot has 1..{WORD_BITS} bits, got {bits}")
    return WORD_BITS // bits


def words_needed(count: int, *, bits: int) -> int:
    """How many words hold `count` values."""
    return -(-count // slots_per_word(bits))


def pack(values: Sequence[int], *, bits: int) -> list[int]:
    """Values in 0..2^bits − 1 to words."""
    k, bound = slots_per_word(bits), 1 << bits
    for j, v in enumerate(values):
        if not 0 <= v < bound:
            raise RangeError(f"packed values lie in 0..{bound - 1}, value {j} is {v}")
    return [sum(int(v) << (bits * t) for t, v in enumerate(values[e : e + k])) for e in range(0, len(values), k)]
