"""The plain keccak tree: against its definition, and nothing opens but what is there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.settlement import SettlementError
from martfl.settlement.hash_tree import build, climb, depth
from martfl.settlement.keccak import keccak

leaf_lists = st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=70)


def defined_levels(leaves: list[bytes]) -> list[list[bytes]]:
    """All levels with the padding written out."""
    size = 1
    while size < len(leaves):
        size *= 2
    levels = [leaves + [bytes(32)] * (size - len(leaves))]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([keccak(below[i] + below[i + 1]) for i in range(0, len(below), 2)])
    return levels


@given(leaf_lists)
def test_it_is_the_tree_with_all_its_padding(leaves):
    tree, levels = build(leaves), defined_levels(leaves)
    assert tree.root == levels[-1][0]
    assert [tree.leaf(i) for i in range(tree.leaves)] == leaves
    assert len(levels) == depth(len(leaves)) + 1
    for height, level in enumerate(levels):
        assert tree.filled(height) == b"".join(level)


@given(leaf_lists, st.data())
def test_every_leaf_climbs_to_the_root_and_from_its_own_place_only(leaves, data):
    tree = build(leaves)
    index, other = (data.draw(st.integers(0, len(leaves) - 1)) for _ in range(2))
    path = tree.path(index)
    assert climb(leaves[index], index=index, path=path, leaves=len(leaves)) == tree.root
    moved = climb(leaves[index], index=other, path=tree.path(other), leaves=len(leaves))
    assert (moved == tree.root) == (leaves[index] == leaves[other])
    for at, sibling in enumerate(path):
        changed = (*path[:at], keccak(sibling), *path[at + 1 :])
        assert climb(leaves[index], index=index, path=changed, leaves=len(leaves)) != tree.root


def test_one_leaf_is_its_own_root():
    tree = build([b"x" * 32])
    assert (tree.root, tree.path(0)) == (b"x" * 32, ())


def test_leaves_may_come_in_pieces():
    leaves = [bytes([i]) * 32 for i in range(5)]
    assert build([b"".join(leaves)]).levels == build(iter(leaves)).levels


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"index": 5}, r"index lies in 0\.\.4, got 5"),  # padding
        ({"index": -1}, r"index lies in 0\.\.4, got -1"),
        ({"index": 8}, r"index lies in 0\.\.4, got 8"),  # the same node, seen from beyond the tree
        ({"path": ()}, "3 siblings for 5 leaves, got 0"),
        ({"path": (bytes(32),) * 4}, "3 siblings for 5 leaves, got 4"),
        ({"path": (bytes(31),) * 3}, "every node of a path has 32 bytes"),
        ({"leaves": 0}, "index lies in"),
    ],
)
def test_what_is_no_leaf_is_not_climbed_from(changes, message):
    tree = build(bytes([i]) * 32 for i in range(5))
    honest = {"index": 0, "path": tree.path(0), "leaves": 5}
    assert climb(tree.leaf(0), **honest) == tree.root
    with pytest.raises(SettlementError, match=message):
        climb(tree.leaf(0), **honest | changes)


def test_empty_and_crooked_trees_are_refused():
    for bad in ([], [b""], [bytes(31)]):
        with pytest.raises(SettlementError, match="one leaf of 32 bytes or more"):
            build(bad)
    with pytest.raises(SettlementError, match="at least one leaf"):
        depth(0)
    tree = build([bytes(32)] * 3)
    for call in (tree.path, tree.leaf):
        with pytest.raises(SettlementError, match="index lies in"):
            call(3)
