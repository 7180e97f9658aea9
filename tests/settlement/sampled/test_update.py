"""Commitments to updates and the ruling on objections."""

from dataclasses import replace

import numpy as np
import pytest

from martfl.settlement import SettlementError
from martfl.settlement.sampled.update import (
    blinding,
    make_objection,
    objection_holds,
    update_commitment,
    update_root,
    update_tree,
)

SECRET = bytes(range(32))
SIZE = 5000
INDICES = [7, 1300, 2600, 4999]


@pytest.fixture(scope="module")
def committed(small_shape):
    update = np.random.default_rng(3).integers(0, 4096, SIZE)
    tree = update_tree(update, secret=SECRET, shape=small_shape)
    return update, tree, update_root(tree, blinding=blinding(SECRET))


def rule(objection, committed, shape, posted, *, indices=INDICES, root=None):
    return objection_holds(
        objection, root=root or committed[2], posted=posted, indices=indices, parameters=SIZE, shape=shape
    )


def test_an_objection_holds_exactly_when_the_posted_commitment_is_wrong(committed, small_shape):
    update, tree, _ = committed
    right = update_commitment(update[INDICES], blinding=blinding(SECRET), shape=small_shape)
    objection = make_objection(tree, blinding=blinding(SECRET), indices=INDICES)
    assert rule(objection, committed, small_shape, right + 1)
    assert not rule(objection, committed, small_shape, right)


def test_a_provider_cannot_object_with_other_values(committed, small_shape):
    """Against a right commitment: another update, another blinding, other leaves, another root."""
    update, tree, _ = committed
    right = update_commitment(update[INDICES], blinding=blinding(SECRET), shape=small_shape)
    honest = make_objection(tree, blinding=blinding(SECRET), indices=INDICES)
    forged = update_tree(np.roll(update, 1), secret=SECRET, shape=small_shape)
    path = honest.paths[0]
    for bad in (
        make_objection(forged, blinding=blinding(SECRET), indices=INDICES),
        replace(honest, blinding=honest.blinding + 1),
        replace(honest, paths=honest.paths[::-1]),
        replace(honest, paths=honest.paths[:-1]),
        replace(honest, paths=(replace(path, word=bytes(32)), *honest.paths[1:])),
        replace(honest, paths=(replace(path, salt=bytes(32)), *honest.paths[1:])),
    ):
        assert not rule(bad, committed, small_shape, right)
    assert not rule(honest, committed, small_shape, right + 1, root=bytes(32))
    assert not rule(honest, committed, small_shape, right + 1, indices=[8 + 21, *INDICES[1:]])


def test_roots_hide_and_bind(committed, small_shape):
    update, _, root = committed
    assert update_root(update_tree(update, secret=SECRET, shape=small_shape), blinding=blinding(SECRET)) == root
    other = update_tree(update, secret=bytes(32), shape=small_shape)
    assert update_root(other, blinding=blinding(bytes(32))) != root
    changed = update.copy()
    changed[-1] ^= 1
    assert update_root(update_tree(changed, secret=SECRET, shape=small_shape), blinding=blinding(SECRET)) != root


def test_equal_leaves_have_different_nodes(small_shape):
    tree = update_tree(np.zeros(SIZE, np.int64), secret=SECRET, shape=small_shape)
    assert len({tree.nodes.leaf(i) for i in range(tree.shape.leaves)}) == tree.shape.leaves


def test_bad_input_is_refused(small_shape):
    with pytest.raises(SettlementError, match="update: values"):
        update_tree(np.array([4096]), secret=SECRET, shape=small_shape)
    with pytest.raises(SettlementError, match="secret key"):
        update_tree(np.array([1]), secret=b"short", shape=small_shape)
    with pytest.raises(SettlementError, match="sampled values"):
        update_commitment([1], blinding=1, shape=small_shape)
