"""Poseidon over BN254's scalar field, with circomlib's parameters (Grassi et al., USENIX Security 2021).

The state has t = inputs + 1 elements, the first one zero; 8 full rounds, R_P(t) partial ones; S-box x^5:

    state ← M · S(state + c_r)       S acts on all elements in full rounds, on the first alone in partial rounds

Round constants and the Cauchy matrix M come from the Grain LFSR that the paper prescribes, run here: nothing to trust
but the procedure. The hash is the state's first element.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from martfl.settlement.errors import RangeError, SettlementError
from martfl.settlement.keccak import keccak, word
from martfl.settlement.sampled.statement import FIELD

T = TypeVar("T")

MAX_INPUTS = 16
FULL_ROUNDS = 8
PARTIAL_ROUNDS = (56, 57, 56, 60, 60, 63, 64, 63, 60, 66, 60, 65, 70, 60, 64, 68)  # t = 2 … 17
_FIELD_BITS = 254
_TAPS = (0, 13, 23, 38, 51, 62)


@dataclass(frozen=True)
class PoseidonParameters:
    """Everything that defines the permutation of one width."""

    width: int
    partial_rounds: int
    constants: tuple[tuple[int, ...], ...]  # (rounds, t)
    matrix: tuple[tuple[int, ...], ...]  # (t, t)

    def is_full(self, round_: int) -> bool:
        """Whether the S-box acts on every element in this round."""
        half = FULL_ROUNDS // 2
        return round_ < half or round_ >= half + self.partial_rounds

    @property
    def rounds(self) -> int:
        """All rounds, full and partial."""
        return FULL_ROUNDS + self.partial_rounds


def poseidon(inputs: Sequence[int]) -> int:
    """The hash of 1 to 16 field elements."""
    for i, x in enumerate(inputs):
        if not 0 <= x < FIELD:
            raise RangeError(f"inputs are field elements, number {i} is {x}")
    p = parameters(len(inputs) + 1)
    state = [0, *inputs]
    for r in range(p.rounds):
        state = [(x + c) % FIELD for x, c in zip(state, p.constants[r], strict=True)]
        state = [pow(x, 5, FIELD) if i == 0 or p.is_full(r) else x for i, x in enumerate(state)]
        state = [sum(m * x for m, x in zip(row, state, strict=True)) % FIELD for row in p.matrix]
    return state[0]


def hash_many(words: Sequence[int], *, blinding: int) -> int:
    """cm = Poseidon(words ‖ r); beyond 15 words a chain: the next Poseidon has the hash so far as its last input."""
    digest = blinding
    for chunk in chunks(words):
        digest = poseidon([*chunk, digest])
    return digest


def chunks(words: Sequence[T]) -> list[Sequence[T]]:
    """Words in groups of 15: what one permutation takes beside the chaining value."""
    if not words:
        raise SettlementError("at least one word to hash, got none")
    return [words[i : i + MAX_INPUTS - 1] for i in range(0, len(words), MAX_INPUTS - 1)]


@lru_cache(maxsize=MAX_INPUTS)
def parameters(width: int) -> PoseidonParameters:
    """The parameters for a state of `width` elements."""
    if not 2 <= width <= MAX_INPUTS + 1:
        raise SettlementError(f"Poseidon takes 1..{MAX_INPUTS} inputs, got {width - 1}")
    partial = PARTIAL_ROUNDS[width - 2]
    bits = _grain(width, partial)
    flat = [_below_field(bits) for _ in range((FULL_ROUNDS + partial) * width)]
    constants = tuple(tuple(flat[i : i + width]) for i in range(0, len(flat), width))
    return PoseidonParameters(width, partial, constants, _cauchy(bits, width))


def constants_words(width: int) -> list[int]:
    """Round constants row by row, then the matrix row by row: what an objection hands to the contract."""
    p = parameters(width)
    return [c for row in (*p.constants, *p.matrix) for c in row]


def constants_hash(width: int) -> bytes:
    """keccak of those words, fixed in the contract."""
    return keccak(b"".join(word(c) for c in constants_words(width)))


def _grain(width: int, partial: int) -> Iterator[int]:
    """The LFSR's filtered bits: of each pair, the second counts if the first is one."""
    fields = ((1, 2), (0, 4), (_FIELD_BITS, 12), (width, 12), (FULL_ROUNDS, 10), (partial, 10), ((1 << 30) - 1, 30))
    first_to_last = "".join(format(value, f"0{size}b") for value, size in fields)
    state = int(first_to_last[::-1], 2)  # bit i of `state` is the register's bit i
    raw = _clock(state)
    for _ in range(160):
        next(raw)
    while True:
        chosen, bit = next(raw), next(raw)
        if chosen:
            yield bit


def _clock(state: int) -> Iterator[int]:
    t0, t1, t2, t3, t4, t5 = _TAPS
    while True:
        bit = ((state >> t0) ^ (state >> t1) ^ (state >> t2) ^ (state >> t3) ^ (state >> t4) ^ (state >> t5)) & 1
        state = (state >> 1) | (bit << 79)
        yield bit


def _draw(bits: Iterator[int]) -> int:
    value = 0
    for _ in range(_FIELD_BITS):
        value = value << 1 | next(bits)
    return value


def _below_field(bits: Iterator[int]) -> int:
    while (value := _draw(bits)) >= FIELD:
        pass
    return value


def _cauchy(bits: Iterator[int], width: int) -> tuple[tuple[int, ...], ...]:
    """M_ij = 1 / (x_i + y_j), all x and y different."""
    while True:
        drawn = [_draw(bits) % FIELD for _ in range(2 * width)]
        xs, ys = drawn[:width], drawn[width:]
        sums = [[(x + y) % FIELD for y in ys] for x in xs]
        if len(set(drawn)) == 2 * width and all(all(row) for row in sums):
            return tuple(tuple(pow(s, -1, FIELD) for s in row) for row in sums)
