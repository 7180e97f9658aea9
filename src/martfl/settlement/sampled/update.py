"""A provider's commitments: to its whole update before it is judged, to the sampled values once they are drawn.

    salt_i      = keccak(K ‖ i ‖ 1)                     integers as words of 32 bytes
    r           = keccak(K ‖ 2^256 − 1) >> 8            31 bytes, so below the field
    update_root = keccak(merkle root of salted leaves ‖ keccak(r))
    cm          = Poseidon(pack(q[samples]) ‖ r)

One secret key K of 32 bytes opens both; the same key unseals the update (`sealed`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from martfl.arrays import Integers
from martfl.settlement.errors import SettlementError
from martfl.settlement.keccak import keccak, word
from martfl.settlement.sampled.merkle import Path, Tree, TreeShape, build_tree
from martfl.settlement.sampled.packing import pack
from martfl.settlement.sampled.poseidon import hash_many
from martfl.settlement.sampled.quantise import check_range
from martfl.settlement.sampled.statement import Shape
from martfl.settlement.seal import check_secret

_ONE, _TOP = word(1), word((1 << 256) - 1)


@dataclass(frozen=True)
class Objection:
    """What `refute_commitment` takes: the sampled leaves with their paths, the cap and the blinding."""

    cap: tuple[bytes, ...]
    paths: tuple[Path, ...]  # one for each sample
    blinding: int


def update_tree(update: Integers, *, secret: bytes, shape: Shape) -> Tree:
    """The salted tree of a quantised update under the key K."""
    values = check_range(update, bits=shape.update_bits, name="update")
    leaves = TreeShape(parameters=len(values), bits=shape.update_bits).leaves
    return build_tree(values, bits=shape.update_bits, salts=salts(check_secret(secret), leaves))


def salts(secret: bytes, leaves: int) -> bytes:
    """salt_0 ‖ salt_1 ‖ …"""
    return b"".join([salt(secret, leaf) for leaf in range(leaves)])


def salt(secret: bytes, leaf: int) -> bytes:
    """salt_i."""
    return keccak(secret + word(leaf) + _ONE)


def blinding(secret: bytes) -> int:
    """r."""
    return int.from_bytes(keccak(check_secret(secret) + _TOP)[:31], "big")


def update_root(tree: Tree, *, blinding: int) -> bytes:
    """What a provider posts with `commit_model`."""
    return bind(tree.root, blinding=blinding)


def bind(root: bytes, *, blinding: int) -> bytes:
    """keccak(root ‖ keccak(r)): the samples' blinding is fixed together with the update."""
    return keccak(root + keccak(word(blinding)))


def update_commitment(sampled: Sequence[int], *, blinding: int, shape: Shape) -> int:
    """cm for the values at the sampled indices."""
    if len(sampled) != shape.samples:
        raise SettlementError(f"{shape.samples} sampled values for this shape, got {len(sampled)}")
    return hash_many(pack([int(q) for q in sampled], bits=shape.update_bits), blinding=blinding)


def empty_commitment(shape: Shape) -> int:
    """EMPTY: what stands for a provider of weight 0 and for an unused slot."""
    return update_commitment([0] * shape.samples, blinding=0, shape=shape)


def make_objection(tree: Tree, *, blinding: int, indices: Sequence[int]) -> Objection:
    """A provider's openings of its own sampled values."""
    return Objection(tree.cap, tuple(tree.open(j) for j in indices), blinding)
