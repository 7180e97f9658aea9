"""Packing and capped trees: every value opens, nothing else does."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.settlement import SettlementError
from martfl.settlement.errors import RangeError
from martfl.settlement.keccak import keccak
from martfl.settlement.sampled.merkle import Path, TreeShape, build_tree, cap_root, pack_words, unpack_words
from martfl.settlement.sampled.packing import pack, slots_per_word

sizes = st.integers(1, 3000)


def verify_path(*, root: bytes, cap: Sequence[bytes], path: Path, shape: TreeShape, salted: bool) -> bool:
    """Whether `path` opens `root`; the contract's check, step by step. `salted` says which kind of tree it is."""
    if len(cap) != shape.cap_size or len(path.siblings) != shape.path_length or cap_root(cap) != root:
        return False
    if not 0 <= path.leaf < shape.leaves or any(len(n) != 32 for n in (path.word, *path.siblings, *cap)):
        return False
    if len(path.salt) != (32 if salted else 0):
        return False
    leaf, node = path.leaf, keccak(path.word + path.salt) if salted else path.word
    for sibling in path.siblings:
        node = keccak(sibling + node) if leaf & 1 else keccak(node + sibling)
        leaf >>= 1
    return bool(cap[leaf] == node)


def slot(word: int, *, index: int, bits: int) -> int:
    """Value `index` of the whole vector out of the word that holds it: shift and mask, as the contract does it."""
    return (word >> (bits * (index % slots_per_word(bits)))) & ((1 << bits) - 1)


@given(data=st.data(), bits=st.integers(1, 32))
def test_pack_and_unpack(data, bits):
    values = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=60))
    words = pack(values, bits=bits)
    whole = b"".join(w.to_bytes(32, "big") for w in words)
    assert whole == pack_words(np.array(values, np.int64), bits=bits)
    assert unpack_words(whole, bits=bits, count=len(values)).tolist() == values
    for j, v in enumerate(values):
        assert slot(words[j // slots_per_word(bits)], index=j, bits=bits) == v


@given(size=sizes, bits=st.sampled_from([12, 24]), salted=st.booleans(), data=st.data())
def test_every_parameter_opens(size, bits, salted, data):
    values = np.random.default_rng(size).integers(0, 2**bits, size)
    leaves = TreeShape(parameters=size, bits=bits).leaves
    tree = build_tree(values, bits=bits, salts=salts(leaves, salted))
    j = data.draw(st.integers(0, size - 1))
    path = tree.open(j)
    assert verify_path(root=tree.root, cap=tree.cap, path=path, shape=tree.shape, salted=salted)
    assert slot(int.from_bytes(path.word, "big"), index=j, bits=bits) == values[j]
    assert len(path.siblings) == tree.shape.path_length


def salts(leaves: int, salted: bool) -> bytes:
    return np.random.default_rng(1).bytes(32 * leaves) if salted else b""


@given(
    size=st.integers(2000, 4000),
    position=st.integers(0, 1999),
    target=st.sampled_from(["word", "sibling", "leaf", "cap"]),
)
def test_any_change_is_rejected(size, position, target):
    values = np.random.default_rng(size).integers(0, 2**24, size)
    tree = build_tree(values, bits=24)
    path, cap = tree.open(position), list(tree.cap)
    if target == "word":
        path = replace(path, word=flip(path.word))
    elif target == "sibling":
        path = replace(path, siblings=(flip(path.siblings[0]), *path.siblings[1:]))
    elif target == "leaf":
        path = replace(path, leaf=path.leaf ^ 1)
    else:
        cap[0] = flip(cap[0])
    assert not verify_path(root=tree.root, cap=cap, path=path, shape=tree.shape, salted=False)


def flip(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


def test_trees_of_the_other_kind_do_not_open():
    values = np.arange(3000)
    plain, salted = build_tree(values, bits=24), build_tree(values, bits=24, salts=salts(300, True))
    assert not verify_path(root=plain.root, cap=plain.cap, path=plain.open(5), shape=plain.shape, salted=True)
    assert not verify_path(root=salted.root, cap=salted.cap, path=salted.open(5), shape=salted.shape, salted=False)


def test_malformed_paths_are_rejected():
    tree = build_tree(np.arange(3000), bits=24)
    path, check = tree.open(0), {"root": tree.root, "cap": tree.cap, "shape": tree.shape, "salted": False}
    assert verify_path(path=path, **check)
    for bad in (
        replace(path, siblings=path.siblings[:-1]),
        replace(path, word=path.word[:-1]),
        replace(path, leaf=-1),
        replace(path, leaf=tree.shape.leaves),
        replace(path, salt=bytes(32)),
    ):
        assert not verify_path(path=bad, **check)
    assert not verify_path(path=path, **check | {"cap": tree.cap[:-1]})


def test_roots_depend_on_every_value():
    values = np.zeros(2500, np.int64)
    roots = {build_tree(values, bits=24).root}
    for j in range(0, 2500, 100):
        changed = values.copy()
        changed[j] = 1
        roots.add(build_tree(changed, bits=24).root)
    assert len(roots) == 26


def test_sizes_for_three_million_parameters():
    model, update = TreeShape(parameters=3_000_000, bits=24), TreeShape(parameters=3_000_000, bits=12)
    assert (model.depth, model.path_length, model.cap_size) == (19, 13, 64)
    assert (update.depth, update.path_length) == (18, 12)


def test_bad_input_is_refused():
    with pytest.raises(RangeError, match=r"got 16777216\.\.16777216"):
        build_tree(np.array([1 << 24]), bits=24)
    with pytest.raises(RangeError, match=r"got -1\.\.-1"):
        build_tree(np.array([-1]), bits=24)
    with pytest.raises(SettlementError, match="flat integer"):
        build_tree(np.array([0.5]), bits=24)
    with pytest.raises(SettlementError, match="salt"):
        build_tree(np.arange(50), bits=24, salts=bytes(32))
    with pytest.raises(SettlementError, match="at least one parameter"):
        build_tree(np.array([], np.int64), bits=24)
    with pytest.raises(SettlementError, match="parameter index"):
        build_tree(np.arange(5), bits=24).open(5)
    with pytest.raises(SettlementError, match="another number of words, got 32 bytes"):
        unpack_words(bytes(32), bits=24, count=11)
