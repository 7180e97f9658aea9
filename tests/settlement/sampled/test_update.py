"""Commitments to updates."""

import numpy as np
import pytest

from martfl.settlement import SettlementError
from martfl.settlement.sampled.update import (
    blinding,
    update_commitment,
    update_root,
    update_tree,
)

SECRET = bytes(range(32))
SIZE = 5000


@pytest.fixture(scope="module")
def committed(small_shape):
    update = np.random.default_rng(3).integers(0, 4096, SIZE)
    tree = update_tree(update, secret=SECRET, shape=small_shape)
    return update, tree, update_root(tree, blinding=blinding(SECRET))


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
