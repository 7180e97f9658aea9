"""A sealed update under the sampled scheme: the exact scheme's exchange over words instead of leaves of many scalars.

    sealed_i = word_i XOR keccak(K ‖ i ‖ 0)                    integers as words of 32 bytes
    node_i   = keccak(word_i ‖ salt_i)                         base nodes of the salted tree (`update`, `merkle`)
    hidden   = keccak(r)
    C        = keccak(salted root ‖ hidden)                    what the seller posts
    leaf_i   = keccak(sealed_i ‖ node_i) for i < L,   leaf_L = keccak(hidden)          the sealed tree (`hash_tree`)
    body     = sealed_0 ‖ … ‖ sealed_{L−1} ‖ node_0 ‖ … ‖ node_{L−1} ‖ hidden

A word decodes to sealed_i without its pad, every bit that belongs to no parameter set to 0; so all slots are in range.
Leaf i < L is false if keccak(decoded ‖ salt_i) ≠ node_i; leaf L is false if keccak(r of K) ≠ hidden. If no leaf is
false, K and the decoded values open C.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from martfl.arrays import Integers
from martfl.settlement import hash_tree
from martfl.settlement.errors import FileError, OpeningError, SettlementError
from martfl.settlement.hash_tree import HashTree, check_index
from martfl.settlement.keccak import keccak, word
from martfl.settlement.sampled.merkle import TreeShape, base_nodes, pack_words, unpack_words
from martfl.settlement.sampled.quantise import check_range
from martfl.settlement.sampled.update import blinding, salt, salts
from martfl.settlement.seal import check_root, check_secret, seal_digest

_ZERO = word(0)


@dataclass(frozen=True)
class SampledSealedUpdate:
    """What a seller commits to and sends before it is paid; nothing here is secret."""

    commitment: bytes
    root: bytes
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class SampledRefutation:
    """What the contract's `refute` takes."""

    secret: bytes = field(repr=False)  # K, which is on chain by then
    index: int
    sealed: bytes  # sealed_i; 32 zero bytes for the leaf of the blinding
    shown: bytes  # node_i, or `hidden`
    path: tuple[bytes, ...]


def seal(update: Integers, shape: TreeShape, secret: bytes) -> SampledSealedUpdate:
    """Seal and commit to a quantised update; `secret` is K, never used for another update."""
    secret, values = check_secret(secret), check_range(update, bits=shape.bits, name="update")
    if len(values) != shape.parameters:
        raise SettlementError(f"update: {shape.parameters} parameters, got {len(values)}")
    words = pack_words(values, bits=shape.bits)
    nodes, hidden = base_nodes(words, salts(secret, shape.leaves)), keccak(word(blinding(secret)))
    body = _pad(words, secret) + nodes + hidden
    return SampledSealedUpdate(_commitment(nodes, hidden, shape), _tree(body, shape).root, body)


def check_sealed(body: bytes, *, commitment: bytes, root: bytes, shape: TreeShape) -> None:
    """Raise unless `body` has the right size, its tree has this root and its nodes are those of C."""
    found = _tree(body, shape).root
    if found != check_root(root):
        raise OpeningError(f"the sealed update has the root {found.hex()}, shown was {root.hex()}")
    _, nodes, hidden = _parts(body, shape)
    committed = _commitment(nodes, hidden, shape)
    if committed != commitment:
        raise OpeningError(f"the nodes of the sealed update commit to {committed.hex()}, shown was {commitment.hex()}")


def open_sealed(body: bytes, secret: bytes, shape: TreeShape) -> tuple[npt.NDArray[np.unsignedinteger], int]:
    """What `body` decodes to under K, always in range, and r. `find_false_leaf` says whether they open C."""
    sealed, _, _ = _parts(body, shape)
    words = _pad(sealed, check_secret(secret))
    return unpack_words(words, bits=shape.bits, count=shape.parameters), blinding(secret)


def find_false_leaf(body: bytes, secret: bytes, shape: TreeShape) -> int | None:
    """The first leaf that is not what it was committed to; None where K and the decoded values open C."""
    values, r = open_sealed(body, secret, shape)
    _, nodes, hidden = _parts(body, shape)
    expected = base_nodes(pack_words(values, bits=shape.bits), salts(secret, shape.leaves))
    if expected != nodes:
        return next(i for i in range(shape.leaves) if expected[32 * i : 32 * i + 32] != nodes[32 * i : 32 * i + 32])
    return None if keccak(word(r)) == hidden else shape.leaves


def refutation(body: bytes, secret: bytes, shape: TreeShape, leaf: int) -> SampledRefutation:
    """The refutation by leaf number `leaf`; it holds where that leaf is false (`find_false_leaf`)."""
    check_index(leaf, leaves=shape.leaves + 1)
    sealed, nodes, hidden = _parts(body, shape)
    at, path = slice(32 * leaf, 32 * leaf + 32), _tree(body, shape).path(leaf)
    if leaf == shape.leaves:
        return SampledRefutation(check_secret(secret), leaf, bytes(32), hidden, path)
    return SampledRefutation(check_secret(secret), leaf, sealed[at], nodes[at], path)


def refutes(refutation: SampledRefutation, *, seal: bytes, root: bytes, shape: TreeShape) -> bool:
    """The contract's ruling: the leaf is the seller's, and under K it is not what is shown.

    `seal` is what the seller committed to (`seal_digest`), `root` the one that was shown.
    """
    r, last = refutation, refutation.index == shape.leaves
    if len(r.sealed) != 32 or len(r.shown) != 32:
        return False
    leaf = keccak(r.shown) if last else keccak(r.sealed + r.shown)
    try:
        found = hash_tree.climb(leaf, index=r.index, path=r.path, leaves=shape.leaves + 1)
        if found != root or seal_digest(root, r.secret) != seal:
            return False
    except SettlementError:
        return False
    expected = keccak(word(blinding(r.secret))) if last else keccak(_decoded(r, shape) + salt(r.secret, r.index))
    return expected != r.shown


def _decoded(shown: SampledRefutation, shape: TreeShape) -> bytes:
    """One word as the contract reads it: shift and mask."""
    pad = keccak(shown.secret + word(shown.index) + _ZERO)
    plain = int.from_bytes(shown.sealed, "big") ^ int.from_bytes(pad, "big")
    slots = min(shape.slots, shape.parameters - shape.slots * shown.index)
    return word(plain & ((1 << (shape.bits * slots)) - 1))


def _pad(words: bytes, secret: bytes) -> bytes:
    """Words under the pad, or without it again."""
    pad = b"".join([keccak(secret + word(i) + _ZERO) for i in range(len(words) // 32)])
    return (np.frombuffer(words, np.uint8) ^ np.frombuffer(pad, np.uint8)).tobytes()


def _commitment(nodes: bytes, hidden: bytes, shape: TreeShape) -> bytes:
    cap = hash_tree.build([nodes]).filled(shape.path_length)
    return keccak(keccak(cap) + hidden)


def _tree(body: bytes, shape: TreeShape) -> HashTree:
    sealed, nodes, hidden = _parts(body, shape)
    leaves = [keccak(sealed[at : at + 32] + nodes[at : at + 32]) for at in range(0, len(sealed), 32)]
    return hash_tree.build([*leaves, keccak(hidden)])


def _parts(body: bytes, shape: TreeShape) -> tuple[bytes, bytes, bytes]:
    size = 32 * shape.leaves
    if len(body) != 2 * size + 32:
        raise FileError(f"a sealed update of {shape.parameters} values has {2 * size + 32} bytes, got {len(body)}")
    return body[:size], body[size : 2 * size], body[2 * size :]
