"""Refutations: every false leaf can be shown, nothing true ever can. `refutes` is the contract's ruling."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from eth_tester import EthereumTester, PyEVMBackend
from hypothesis import given, settings
from hypothesis import strategies as st
from py_arkworks_bls12381 import G1Point, Scalar
from web3 import EthereumTesterProvider, Web3

sys.path.insert(0, str(Path(__file__).parent))  # `sealing`
from sealing import SECRET, border_sizes, draw, key_of, part, root_of, with_byte, with_parts

from martfl.settlement import SettlementError
from martfl.settlement.exact import find_false_leaf, generator_root, open_sealed, refutation, refutes, seal
from martfl.settlement.exact.false_leaf import PAIR_BYTES
from martfl.settlement.exact.sealed import leaf_shape
from martfl.settlement.seal import seal_digest

G1MSM = "0x000000000000000000000000000000000000000C"
LEAVES = 3


@pytest.fixture(scope="module")
def key():
    """Three leaves, the last of seven values; the tree has one leaf of padding."""
    return key_of(2 * 1536 + 7)


@pytest.fixture(scope="module")
def honest(key):
    return seal(draw(key, 1), key, SECRET)


def rules(shown, body, key, *, secret=SECRET, **changes):
    """The ruling against a seller that committed to this body and this secret."""
    root = root_of(body, key)
    known = {"seal": seal_digest(root, secret), "root": root, "generator_root": generator_root(key)}
    return refutes(shown, **known | {"layout": key.layout, "parameters": key.parameters} | changes)


def test_no_leaf_of_an_honest_update_is_refuted(key, honest):
    for leaf in range(LEAVES):
        assert not rules(refutation(honest.body, SECRET, key, leaf), honest.body, key)


FORGERIES = {
    "other key": lambda s, o: replace(s, secret=bytes(32)),
    "another leaf's number": lambda s, o: replace(s, index=(s.index + 1) % LEAVES),
    "padding's number": lambda s, o: replace(s, index=LEAVES),
    "a number beyond the tree": lambda s, o: replace(s, index=s.index + 4),
    "a negative number": lambda s, o: replace(s, index=s.index - 4),
    "another leaf's path": lambda s, o: replace(s, path=o.path),
    "another leaf's generators": lambda s, o: replace(s, generators=o.generators),
    "both paths of another leaf": lambda s, o: replace(s, path=o.path, generators=o.generators, index=o.index),
    "paths exchanged": lambda s, o: replace(s, path=s.generators, generators=s.path),
    "another leaf's part": lambda s, o: replace(s, part=o.part),
    "another leaf's sealed bytes": lambda s, o: replace(s, sealed=o.sealed),
    "another leaf's pairs": lambda s, o: replace(s, pairs=o.pairs),
    "a changed sealed byte": lambda s, o: replace(s, sealed=with_byte(s.sealed, 3, s.sealed[3] ^ 1)),
    "a word more": lambda s, o: replace(s, sealed=s.sealed + bytes(32)),
    "a word less": lambda s, o: replace(s, sealed=s.sealed[:-32]),
    "a short part": lambda s, o: replace(s, part=s.part[:-1]),
    "the part behind the sealed bytes": lambda s, o: replace(s, sealed=s.sealed + s.part[:32], part=s.part[32:]),
    "no path": lambda s, o: replace(s, path=()),
    "a longer path": lambda s, o: replace(s, path=(*s.path, bytes(32))),
    "no pairs": lambda s, o: replace(s, pairs=b""),
    "a pair less": lambda s, o: replace(s, pairs=s.pairs[:-PAIR_BYTES]),
    "a pair more": lambda s, o: replace(s, pairs=s.pairs + s.pairs[-PAIR_BYTES:]),
    "another blinding": lambda s, o: replace(s, pairs=with_byte(s.pairs, 159, s.pairs[159] ^ 1)),
    "another scalar": lambda s, o: replace(s, pairs=with_byte(s.pairs, 319, s.pairs[319] ^ 1)),
    "another generator of blindings": lambda s, o: replace(s, pairs=s.pairs[160:288] + s.pairs[128:]),
    "generators in another order": lambda s, o: replace(
        s, pairs=s.pairs[:160] + s.pairs[320:448] + s.pairs[288:320] + s.pairs[160:288] + s.pairs[448:]
    ),
}


@pytest.mark.parametrize("leaf", range(LEAVES))
@pytest.mark.parametrize("kind", FORGERIES)
def test_no_forged_refutation_holds_against_an_honest_update(key, honest, kind, leaf):
    shown, other = (refutation(honest.body, SECRET, key, n) for n in (leaf, (leaf + 1) % LEAVES))
    forged = FORGERIES[kind](shown, other)
    assert forged != shown
    assert not rules(forged, honest.body, key)


def test_an_honest_update_is_not_refuted_with_what_belongs_to_others(key, honest):
    """A false update of somebody else, or the right one under a key that was never committed to."""
    body = with_byte(honest.body, 0, honest.body[0] ^ 1)
    shown = refutation(body, SECRET, key, 0)
    assert rules(shown, body, key)
    assert not rules(shown, honest.body, key)
    assert not rules(shown, body, key, root=honest.root)
    assert not rules(shown, body, key, generator_root=bytes(32))
    assert not rules(shown, body, key, parameters=key.parameters - 1536)  # one leaf less
    stranger = refutation(honest.body, bytes(32), key, 0)
    assert rules(stranger, honest.body, key, secret=bytes(32))  # who committed to that key would have lied
    assert not rules(stranger, honest.body, key)


@st.composite
def lies(draw_):
    """An update of any width; its seller lies about a leaf, in the sealed bytes or in the parts."""
    bits = draw_(st.integers(2, 32))
    key = key_of(draw_(st.sampled_from(border_sizes(bits)[2:])), bits=bits)
    update, shape = draw(key, draw_(st.integers(0, 2**32))), leaf_shape(key)
    body, leaf = seal(update, key, SECRET).body, draw_(st.integers(0, shape.leaves - 1))
    if draw_(st.booleans()) or shape.leaves == 1:
        where = shape.sealed(leaf)
        at = draw_(st.integers(where.start, where.stop - 1))
        return key, update, leaf, with_byte(body, at, body[at] ^ draw_(st.integers(1, 255)))
    other, step = draw_(st.integers(0, shape.leaves - 1).filter(lambda n: n != leaf)), G1Point() * Scalar(7)
    parts = {leaf: part(body, key, leaf) + step, other: part(body, key, other) - step}
    return key, update, min(leaf, other), with_parts(body, key, parts)


@settings(max_examples=50, deadline=None)
@given(lies())
def test_every_false_leaf_is_found_and_refuted_and_no_true_one_before_it(case):
    key, update, leaf, body = case
    shape = leaf_shape(key)
    same_parts = seal(update, key, SECRET).body[shape.sealed_bytes :] == body[shape.sealed_bytes :]
    true = same_parts and np.array_equal(open_sealed(body, SECRET, key)[0], update)  # another code of the same value
    assert find_false_leaf(body, SECRET, key) == (None if true else leaf)
    assert rules(refutation(body, SECRET, key, leaf), body, key) == (not true)
    for before in range(leaf):
        assert not rules(refutation(body, SECRET, key, before), body, key)


def test_what_fills_the_last_word_does_not_matter(key, honest):
    """Seven values have fourteen bytes; the contract hashes and reads no more of the word."""
    shown = refutation(honest.body, SECRET, key, 2)
    assert len(shown.sealed) == 32
    filled = replace(shown, sealed=shown.sealed[:14] + b"\xff" * 18)
    assert not rules(filled, honest.body, key)
    at = leaf_shape(key).sealed(2).start
    body = with_byte(honest.body, at, honest.body[at] ^ 1)
    false = refutation(body, SECRET, key, 2)
    assert rules(false, body, key)
    assert rules(replace(false, sealed=false.sealed[:14] + b"\xff" * 18), body, key)


@pytest.mark.parametrize("leaf", [0, 2])
def test_the_precompile_computes_the_sum_of_the_pairs(key, honest, leaf):
    chain = Web3(EthereumTesterProvider(EthereumTester(PyEVMBackend())))
    shown = refutation(honest.body, SECRET, key, leaf)
    out = chain.eth.call({"to": G1MSM, "data": shown.pairs, "gas": 20_000_000})
    assert bytes(out) == shown.part


def test_leaves_that_are_not_there_and_broken_bodies_are_refused(key, honest):
    for leaf in (-1, LEAVES):
        with pytest.raises(SettlementError, match="index lies in"):
            refutation(honest.body, SECRET, key, leaf)
    with pytest.raises(SettlementError, match="bytes, got"):
        refutation(honest.body[:-1], SECRET, key, 0)


def test_a_refutation_does_not_show_the_key_in_its_repr(key, honest):
    shown = refutation(honest.body, SECRET, key, 2)
    assert repr(SECRET) not in repr(shown)
