"""Helpers of the tests of sealed updates: keys of every width, bodies that cheat, and the specification written out."""

from dataclasses import dataclass

import numpy as np
from py_arkworks_bls12381 import G1Point, Scalar

from martfl.settlement.exact import ORDER, CommitmentKey, ExactSealedUpdate, Generators, SlotLayout
from martfl.settlement.exact.generators import blinding_generator
from martfl.settlement.exact.point import Commitment, eip2537
from martfl.settlement.exact.sealed import leaf_shape, leaf_tree, split_body
from martfl.settlement.keccak import keccak, word

POINTS = 1024  # four leaves
SECRET = bytes(range(100, 132))


def key_of(parameters: int, *, bits: int = 16) -> CommitmentKey:
    return CommitmentKey(layout=SlotLayout(bits=bits), parameters=parameters, generators=Generators.load(POINTS))


def border_sizes(bits: int) -> list[int]:
    """Numbers of values around the ends of scalars and leaves."""
    slots = SlotLayout(bits=bits).slots
    ends = [slots, 256 * slots, 512 * slots]
    return sorted({1, *(end + change for end in ends for change in (-1, 0, 1)), 768 * slots})


def draw(key: CommitmentKey, seed: int) -> np.ndarray:
    """An update with both ends of the range in it."""
    bound, rng = key.layout.update_bound, np.random.default_rng(seed)
    values = rng.integers(-bound, bound, key.parameters, endpoint=True)
    values[rng.integers(key.parameters)] = rng.choice([-bound, bound])
    return values


def root_of(body: bytes, key: CommitmentKey) -> bytes:
    """The root that a seller shows who sends this body."""
    return leaf_tree(*split_body(body, key), key).root


def with_byte(body: bytes, at: int, value: int) -> bytes:
    return body[:at] + bytes([value]) + body[at + 1 :]


def with_parts(body: bytes, key: CommitmentKey, parts: dict[int, G1Point]) -> bytes:
    """Some P_l exchanged."""
    start = leaf_shape(key).sealed_bytes
    for leaf, point in parts.items():
        at = start + 48 * leaf
        body = body[:at] + bytes(point.to_compressed_bytes()) + body[at + 48 :]
    return body


def part(body: bytes, key: CommitmentKey, leaf: int) -> G1Point:
    at = leaf_shape(key).sealed_bytes + 48 * leaf
    return G1Point.from_compressed_bytes(body[at : at + 48])


@dataclass(frozen=True)
class Written:
    """The specification in plain Python: integers, lists, one library for points."""

    key: CommitmentKey
    secret: bytes

    def sealed(self, update: np.ndarray) -> ExactSealedUpdate:
        layout, values = self.key.layout, [int(v) for v in update]
        held = 256 * layout.slots
        groups = [values[at : at + held] for at in range(0, len(values), held)]
        pads = [self.pad(number, self.codes(group)) for number, group in enumerate(groups)]
        points = [self.point(number, group) for number, group in enumerate(groups)]
        nodes = [keccak(p + eip2537(bytes(q.to_xy_bytes_be()))) for p, q in zip(pads, points, strict=True)]
        while len(nodes) & (len(nodes) - 1):
            nodes.append(bytes(32))
        while len(nodes) > 1:
            nodes = [keccak(nodes[i] + nodes[i + 1]) for i in range(0, len(nodes), 2)]
        total = sum(points[1:], points[0])
        body = b"".join([*pads, *(bytes(p.to_compressed_bytes()) for p in points)])
        return ExactSealedUpdate(Commitment.from_point(total), nodes[0], body)

    def codes(self, group: list[int]) -> bytes:
        bits = self.key.layout.bits
        size = 1 if bits <= 8 else 2 if bits <= 16 else 4
        return b"".join((v + 2 ** (bits - 1)).to_bytes(size, "big") for v in group)

    def pad(self, number: int, codes: bytes) -> bytes:
        return bytes(
            byte ^ keccak(self.secret + word(number) + word(at // 32))[at % 32] for at, byte in enumerate(codes)
        )

    def point(self, number: int, group: list[int]) -> G1Point:
        width, slots = self.key.layout.width, self.key.layout.slots
        rows = [group[at : at + slots] for at in range(0, len(group), slots)]
        bases = self.key.generators.points(256 * number + len(rows))[256 * number :]
        total = blinding_generator() * _scalar(self.blinding(number))
        for row, base in zip(rows, bases, strict=True):
            total += base * _scalar(sum(v * 2 ** (width * t) for t, v in enumerate(row)))
        return total

    def blinding(self, number: int) -> int:
        high, low = (keccak(self.secret + word(number) + word(2**256 - i)) for i in (1, 2))
        return (int.from_bytes(high, "big") * 2**256 + int.from_bytes(low, "big")) % ORDER


def _scalar(value: int) -> Scalar:
    return Scalar.from_le_bytes((value % ORDER).to_bytes(32, "little"))
