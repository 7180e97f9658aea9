"""The circuit: commitments, aggregation and update of the sampled parameters, every value in its range.

`statement` says what it proves. Costs, in constraints, for n providers, c samples, t − 1 words and r to a commitment:

    bits of q_i             n · c · 12        weights          n · 17 + ⌈n/14⌉
    K_i · q_ij              n · c             W, W', U'        c · (24 + 24 + 20)
    Poseidon                n · 3 (8t + R_P)  remainders       c · 2 · 28
    cm_i                    n                 equations        2c + 1, and one for each packed word
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from martfl.settlement.errors import RangeError, SettlementError
from martfl.settlement.sampled.packing import slots_per_word
from martfl.settlement.sampled.poseidon import chunks, parameters
from martfl.settlement.sampled.r1cs import R1CS, Compiler, Solver, System
from martfl.settlement.sampled.statement import FIELD, WEIGHT_SLOT_BITS, Constants, Shape, Statement

E = TypeVar("E")


@dataclass(frozen=True, kw_only=True)
class Witness:
    """What only the acquirer knows: sampled updates, blindings, the aggregate and both remainders."""

    updates: tuple[tuple[int, ...], ...]  # (n, c) q
    blindings: tuple[int, ...]  # (n,) r_i
    aggregate: tuple[int, ...]  # (c,) U'
    aggregate_remainders: tuple[int, ...]  # (c,) Ra
    update_remainders: tuple[int, ...]  # (c,) Ru


def compile_circuit(shape: Shape) -> R1CS:
    """The constraints of `shape`; values play no part."""
    compiler = Compiler()
    _circuit(compiler, *_blank(shape))
    return compiler.finish()


def solve(statement: Statement, witness: Witness) -> Solver:
    """All wires and constraints; raises UnsatisfiedError or RangeError where the statement is false."""
    _check_sizes(statement.shape, witness)
    solver = Solver()
    _circuit(solver, statement, witness)
    return solver


def _circuit(cs: System[E], statement: Statement, witness: Witness) -> None:
    shape = statement.shape
    public = [cs.wire(x, public=True) for x in statement.public_inputs()]
    alpha, beta, update_zero, aggregate_zero = public[:4]
    groups = _split(public[4:], [shape.weight_words, shape.model_words, shape.model_words, shape.providers])

    weights = _unpack(cs, groups[0], statement.weights, bits=WEIGHT_SLOT_BITS, label="weights")
    old = _unpack(cs, groups[1], statement.old, bits=shape.model_bits, label="old model")
    new = _unpack(cs, groups[2], statement.new, bits=shape.model_bits, label="new model")
    updates = _commitments(cs, groups[3], shape, witness)

    m2 = cs.multiply(update_zero, cs.combine([(1, k) for k in weights]))
    for j in range(shape.samples):
        m1 = [cs.multiply(k, q[j]) for k, q in zip(weights, updates, strict=True)]
        mixed = cs.combine([*((1, m) for m in m1), (-1, m2)])
        total = _bits(cs, witness.aggregate[j], width=shape.aggregate_bits, label=f"U'[{j}]")
        change = cs.combine([(1, total), (-1, aggregate_zero)])
        remainder = _bits(cs, witness.aggregate_remainders[j], width=shape.eta, label=f"Ra[{j}]")
        divided = _scaled(cs, change, remainder, eta=shape.eta)
        cs.require(alpha, mixed, divided, label=f"aggregation of sample {j}")
        remainder = _bits(cs, witness.update_remainders[j], width=shape.eta, label=f"Ru[{j}]")
        divided = _scaled(cs, cs.combine([(1, new[j]), (-1, old[j])]), remainder, eta=shape.eta)
        cs.require(beta, change, divided, label=f"update of sample {j}")


def _scaled(cs: System[E], difference: E, remainder: E, *, eta: int) -> E:
    """2^η · difference + remainder − 2^(η−1): the right side of both equations."""
    return cs.combine([(1 << eta, difference), (1, remainder)], -(1 << (eta - 1)))


def _commitments(cs: System[E], public: Sequence[E], shape: Shape, witness: Witness) -> list[list[E]]:
    """Range-checked updates, bound to cm_i."""
    updates, k, bits = [], slots_per_word(shape.update_bits), shape.update_bits
    for i, cm in enumerate(public):
        q = [_bits(cs, v, width=bits, label=f"q[{i}][{j}]") for j, v in enumerate(witness.updates[i])]
        words = [_packed(cs, q[e : e + k], bits=bits) for e in range(0, len(q), k)]
        digest = cs.wire(witness.blindings[i])
        for chunk in chunks(words):
            digest = _poseidon(cs, [*chunk, digest])
        cs.equal(digest, cm, label=f"commitment of provider {i}")
        updates.append(q)
    return updates


def _poseidon(cs: System[E], inputs: Sequence[E]) -> E:
    p = parameters(len(inputs) + 1)
    state = [cs.combine([]), *inputs]
    for r in range(p.rounds):
        state = [cs.combine([(1, x)], c) for x, c in zip(state, p.constants[r], strict=True)]
        state = [_fifth_power(cs, x) if i == 0 or p.is_full(r) else x for i, x in enumerate(state)]
        state = [cs.combine(list(zip(row, state, strict=True))) for row in p.matrix]
    return state[0]


def _fifth_power(cs: System[E], x: E) -> E:
    square = cs.multiply(x, x)
    return cs.multiply(cs.multiply(square, square), x)


def _bits(cs: System[E], value: int, *, width: int, label: str) -> E:
    """The value as a sum of `width` bits: in range because of how it is made."""
    if not 0 <= value < 1 << width:
        raise RangeError(f"{label} lies in 0..2^{width} − 1, got {value}")
    terms = []
    for t in range(width):
        bit = cs.wire((value >> t) & 1)
        cs.require(bit, bit, bit, label=label)
        terms.append((1 << t, bit))
    return cs.combine(terms)


def _packed(cs: System[E], values: Sequence[E], *, bits: int) -> E:
    return cs.combine([(1 << (bits * t), v) for t, v in enumerate(values)])


def _unpack(cs: System[E], words: Sequence[E], values: Sequence[int], *, bits: int, label: str) -> list[E]:
    """Public words as range-checked values."""
    k = slots_per_word(bits)
    unpacked = [_bits(cs, v, width=bits, label=f"{label}[{j}]") for j, v in enumerate(values)]
    for e, word in enumerate(words):
        cs.equal(_packed(cs, unpacked[e * k : e * k + k], bits=bits), word, label=f"{label}, word {e}")
    return unpacked


def _split(items: Sequence[E], sizes: Sequence[int]) -> list[Sequence[E]]:
    parts, at = [], 0
    for size in sizes:
        parts.append(items[at : at + size])
        at += size
    return parts


def _blank(shape: Shape) -> tuple[Statement, Witness]:
    n, c = shape.providers, shape.samples
    constants = Constants(alpha=0, beta=0, update_zero=0, aggregate_zero=0)
    zeros = (0,) * c
    statement = Statement(
        shape=shape, constants=constants, weights=(0,) * n, old=zeros, new=zeros, commitments=(0,) * n
    )
    witness = Witness(
        updates=(zeros,) * n,
        blindings=(0,) * n,
        aggregate=zeros,
        aggregate_remainders=zeros,
        update_remainders=zeros,
    )
    return statement, witness


def _check_sizes(shape: Shape, witness: Witness) -> None:
    n, c = shape.providers, shape.samples
    per_sample = (witness.aggregate, witness.aggregate_remainders, witness.update_remainders, *witness.updates)
    if len(witness.updates) != n or len(witness.blindings) != n or any(len(row) != c for row in per_sample):
        raise SettlementError(f"a witness for {n} providers and {c} samples has another size")
    for i, r in enumerate(witness.blindings):
        if not 0 <= r < FIELD:
            raise RangeError(f"blindings are field elements, number {i} is {r}")
