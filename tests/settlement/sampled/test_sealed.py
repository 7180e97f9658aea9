"""Sealed updates under the sampled scheme: round trips, the specification, refutations that hold and that never do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.settlement import SettlementError
from martfl.settlement.errors import FileError, OpeningError, RangeError
from martfl.settlement.keccak import keccak, word
from martfl.settlement.sampled.merkle import TreeShape
from martfl.settlement.sampled.packing import pack
from martfl.settlement.sampled.sealed import (
    check_sealed,
    find_false_leaf,
    open_sealed,
    refutation,
    refutes,
    seal,
)
from martfl.settlement.sampled.statement import Shape
from martfl.settlement.sampled.update import blinding, update_root, update_tree
from martfl.settlement.seal import seal_digest

SECRET = bytes(range(60, 92))
SIZES = [1, 2, 20, 21, 22, 41, 42, 43, 21 * 4, 21 * 4 + 1, 21 * 64, 21 * 64 + 1, 21 * 130 + 5]

secrets = st.binary(min_size=32, max_size=32)
shapes = st.builds(TreeShape, parameters=st.sampled_from(SIZES), bits=st.just(12))
wide_shapes = st.builds(TreeShape, parameters=st.integers(1, 200), bits=st.integers(2, 32))


def draw(shape: TreeShape, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**shape.bits, shape.parameters)


def sealed_root(body: bytes, shape: TreeShape) -> bytes:
    """The root that a seller shows who sends this body, written out."""
    size = 32 * shape.leaves
    nodes = [keccak(body[at : at + 32] + body[size + at : size + at + 32]) for at in range(0, size, 32)]
    nodes.append(keccak(body[2 * size :]))
    while len(nodes) & (len(nodes) - 1):
        nodes.append(bytes(32))
    while len(nodes) > 1:
        nodes = [keccak(nodes[i] + nodes[i + 1]) for i in range(0, len(nodes), 2)]
    return nodes[0]


def flipped(body: bytes, at: int, mask: int = 1) -> bytes:
    return body[:at] + bytes([body[at] ^ mask]) + body[at + 1 :]


def rules(shown, body, shape, *, secret=SECRET):
    root = sealed_root(body, shape)
    return refutes(shown, seal=seal_digest(root, secret), root=root, shape=shape)


@settings(deadline=None)
@given(st.one_of(shapes, wide_shapes), secrets, st.integers(0, 2**32))
def test_what_is_sealed_opens_again(shape, secret, seed):
    update = draw(shape, seed)
    sealed = seal(update, shape, secret)
    check_sealed(sealed.body, commitment=sealed.commitment, root=sealed.root, shape=shape)
    values, r = open_sealed(sealed.body, secret, shape)
    assert np.array_equal(values, update)
    assert r == blinding(secret)
    assert find_false_leaf(sealed.body, secret, shape) is None


@pytest.mark.parametrize("parameters", SIZES)
def test_it_is_the_specification_to_the_byte(parameters):
    shape = TreeShape(parameters=parameters, bits=12)
    update = draw(shape, 4)
    sealed = seal(update, shape, SECRET)
    words = [word(w) for w in pack([int(v) for v in update], bits=12)]
    pads = [keccak(SECRET + word(i) + word(0)) for i in range(len(words))]
    nodes = [keccak(w + keccak(SECRET + word(i) + word(1))) for i, w in enumerate(words)]
    r = int.from_bytes(keccak(SECRET + word(2**256 - 1)), "big") >> 8
    hidden = keccak(word(r))
    padded = [bytes(a ^ b for a, b in zip(w, p, strict=True)) for w, p in zip(words, pads, strict=True)]
    assert sealed.body == b"".join([*padded, *nodes, hidden])
    assert sealed.root == sealed_root(sealed.body, shape)
    assert blinding(SECRET) == r


def test_the_commitment_is_the_root_of_the_salted_tree():
    shape = TreeShape(parameters=5000, bits=12)
    update = draw(shape, 5)
    tree = update_tree(update, secret=SECRET, shape=Shape(providers=1, samples=1))
    assert seal(update, shape, SECRET).commitment == update_root(tree, blinding=blinding(SECRET))


@settings(deadline=None)
@given(shapes, st.data())
def test_a_flipped_bit_anywhere_is_noticed_before_the_purchase(shape, data):
    sealed = seal(draw(shape, 6), shape, SECRET)
    at = data.draw(st.integers(0, len(sealed.body) - 1))
    changed = flipped(sealed.body, at, 1 << data.draw(st.integers(0, 7)))
    with pytest.raises(OpeningError, match=r"has the root|bytes|commitment"):
        check_sealed(changed, commitment=sealed.commitment, root=sealed.root, shape=shape)
    if at >= 32 * shape.leaves:  # nodes and the hash of the blinding are held to C, whatever root is shown
        with pytest.raises(OpeningError, match="commit to"):
            check_sealed(changed, commitment=sealed.commitment, root=sealed_root(changed, shape), shape=shape)


@settings(deadline=None)
@given(wide_shapes, secrets, st.data())
def test_whatever_is_sealed_decodes_in_range(shape, secret, data):
    body = data.draw(st.binary(min_size=64 * shape.leaves + 32, max_size=64 * shape.leaves + 32))
    values, _ = open_sealed(body, secret, shape)
    assert values.size == shape.parameters
    assert int(values.max()) < 2**shape.bits


@settings(deadline=None)
@given(shapes, st.data())
def test_bits_that_belong_to_no_parameter_refute_nobody(shape, data):
    """Two encodings of one word decode alike: the bits above the slots, and the slots behind the last parameter."""
    update = draw(shape, 7)
    sealed = seal(update, shape, SECRET)
    leaf = data.draw(st.integers(0, shape.leaves - 1))
    used = 12 * min(21, shape.parameters - 21 * leaf)
    bit = data.draw(st.integers(used, 255))
    body = flipped(sealed.body, 32 * leaf + 31 - bit // 8, 1 << bit % 8)
    assert np.array_equal(open_sealed(body, SECRET, shape)[0], update)
    assert find_false_leaf(body, SECRET, shape) is None
    assert not rules(refutation(body, SECRET, shape, leaf), body, shape)


@settings(deadline=None)
@given(shapes, st.data())
def test_every_false_leaf_is_found_and_refuted_and_no_true_one(shape, data):
    sealed, size = seal(draw(shape, 8), shape, SECRET), 32 * shape.leaves
    at = data.draw(st.integers(0, len(sealed.body) - 1))
    body = flipped(sealed.body, at, data.draw(st.integers(1, 255)))
    same = np.array_equal(open_sealed(body, SECRET, shape)[0], open_sealed(sealed.body, SECRET, shape)[0])
    leaf = shape.leaves if at >= 2 * size else at % size // 32
    true = at < size and same
    assert find_false_leaf(body, SECRET, shape) == (None if true else leaf)
    for index in {0, leaf, max(leaf - 1, 0), shape.leaves}:
        assert rules(refutation(body, SECRET, shape, index), body, shape) == (index == leaf and not true)


SHAPE = TreeShape(parameters=100, bits=12)  # five words and the blinding: six leaves, two of padding
FORGERIES = {
    "other key": lambda s, o: replace(s, secret=bytes(32)),
    "another leaf's number": lambda s, o: replace(s, index=o.index),
    "padding's number": lambda s, o: replace(s, index=6),
    "a number beyond the tree": lambda s, o: replace(s, index=s.index + 8),
    "a negative number": lambda s, o: replace(s, index=s.index - 8),
    "another leaf's path": lambda s, o: replace(s, path=o.path),
    "another leaf's place": lambda s, o: replace(s, path=o.path, index=o.index),
    "another leaf's word": lambda s, o: replace(s, sealed=flipped(s.sealed, 0), shown=o.shown),
    "another node": lambda s, o: replace(s, shown=flipped(s.shown, 31)),
    "a short word": lambda s, o: replace(s, sealed=s.sealed[:-1]),
    "a word that reaches into the node": lambda s, o: replace(s, sealed=s.sealed + s.shown[:1], shown=s.shown[1:]),
    "no path": lambda s, o: replace(s, path=()),
    "a longer path": lambda s, o: replace(s, path=(*s.path, bytes(32))),
    "padding": lambda s, o: replace(s, index=6, sealed=bytes(32), shown=bytes(32)),
}


@pytest.mark.parametrize("leaf", range(6))
@pytest.mark.parametrize("kind", FORGERIES)
def test_no_forged_refutation_holds_against_an_honest_update(kind, leaf):
    sealed = seal(draw(SHAPE, 9), SHAPE, SECRET)
    shown, other = (refutation(sealed.body, SECRET, SHAPE, n) for n in (leaf, (leaf + 1) % 6))
    assert not rules(shown, sealed.body, SHAPE)
    assert not rules(FORGERIES[kind](shown, other), sealed.body, SHAPE)


def test_an_inner_node_cannot_pass_for_a_leaf():
    """A leaf hashes 64 bytes, as a node does: only the length of the path tells them apart."""
    sealed = seal(draw(SHAPE, 9), SHAPE, SECRET)
    leaves = [refutation(sealed.body, SECRET, SHAPE, n) for n in (0, 1)]
    left, right = (keccak(s.sealed + s.shown) for s in leaves)
    raised = replace(leaves[0], sealed=left, shown=right, path=leaves[0].path[1:])
    assert not rules(raised, sealed.body, SHAPE)
    assert not rules(replace(raised, path=(*raised.path, bytes(32))), sealed.body, SHAPE)


def test_bad_input_is_refused():
    sealed = seal(draw(SHAPE, 9), SHAPE, SECRET)
    with pytest.raises(RangeError, match="update: values lie in"):
        seal(np.full(100, 4096), SHAPE, SECRET)
    with pytest.raises(SettlementError, match="100 parameters, got 99"):
        seal(np.zeros(99, np.int64), SHAPE, SECRET)
    with pytest.raises(SettlementError, match="secret key has 32 bytes"):
        seal(draw(SHAPE, 9), SHAPE, b"short")
    for body in (sealed.body[:-1], sealed.body + b"\0", b""):
        with pytest.raises(FileError, match="has 352 bytes, got"):
            check_sealed(body, commitment=sealed.commitment, root=sealed.root, shape=SHAPE)
        with pytest.raises(FileError, match="has 352 bytes, got"):
            open_sealed(body, SECRET, SHAPE)
    for leaf in (-1, 6):
        with pytest.raises(SettlementError, match="index lies in"):
            refutation(sealed.body, SECRET, SHAPE, leaf)
