"""The plain binary keccak tree over which sealed updates and generators are opened on chain.

    node = keccak(left ‖ right),    leaves padded with 32 zero bytes to 2^depth,    depth = ⌈log2(leaves)⌉

One leaf is its own root. A path lists the siblings from the leaf upwards. The number of leaves is public and fixes the
depth, so that no node can pass for a leaf; an index is always below that number, so that no padding can either.

Padding is never stored: at every height the padded nodes are one and the same value.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from martfl.settlement.errors import SettlementError
from martfl.settlement.keccak import keccak

NODE_BYTES = 32


@dataclass(frozen=True, repr=False)
class HashTree:
    """All levels, the leaves first, each as its nodes one after the other."""

    levels: tuple[bytes, ...]

    @property
    def leaves(self) -> int:
        """How many leaves there are, padding not counted."""
        return len(self.levels[0]) // NODE_BYTES

    @property
    def root(self) -> bytes:
        """The node that stands for all leaves."""
        return self.levels[-1]

    def leaf(self, index: int) -> bytes:
        """Leaf number `index`."""
        return _node(self.levels[0], check_index(index, leaves=self.leaves))

    def filled(self, height: int) -> bytes:
        """All nodes at this height above the leaves, padding included."""
        padding = bytes(NODE_BYTES)
        for _ in range(height):
            padding = keccak(padding + padding)
        level, width = self.levels[height], 1 << (depth(self.leaves) - height)
        return level + padding * (width - len(level) // NODE_BYTES)

    def path(self, index: int) -> tuple[bytes, ...]:
        """The siblings of leaf `index`, from the leaf upwards."""
        check_index(index, leaves=self.leaves)
        siblings, padding = [], bytes(NODE_BYTES)
        for level in self.levels[:-1]:
            siblings.append(_node(level, index ^ 1) or padding)
            index, padding = index >> 1, keccak(padding + padding)
        return tuple(siblings)


def build(leaves: Iterable[bytes]) -> HashTree:
    """The tree of at least one leaf of 32 bytes each."""
    level = b"".join(leaves)
    if not level or len(level) % NODE_BYTES:
        raise SettlementError(f"a tree has one leaf of {NODE_BYTES} bytes or more, got {len(level)} bytes")
    levels, padding = [level], bytes(NODE_BYTES)
    while len(level) > NODE_BYTES:
        if len(level) % (2 * NODE_BYTES):
            level += padding
        level = b"".join(keccak(level[at : at + 64]) for at in range(0, len(level), 64))
        levels.append(level)
        padding = keccak(padding + padding)
    return HashTree(tuple(levels))


def climb(leaf: bytes, *, index: int, path: Sequence[bytes], leaves: int) -> bytes:
    """The root that `path` leads to from `leaf`, as the contract computes it."""
    check_index(index, leaves=leaves)
    if len(path) != depth(leaves):
        raise SettlementError(f"a path has {depth(leaves)} siblings for {leaves} leaves, got {len(path)}")
    if any(len(node) != NODE_BYTES for node in (leaf, *path)):
        raise SettlementError(f"every node of a path has {NODE_BYTES} bytes")
    for sibling in path:
        leaf = keccak(sibling + leaf) if index & 1 else keccak(leaf + sibling)
        index >>= 1
    return leaf


def depth(leaves: int) -> int:
    """⌈log2(leaves)⌉."""
    if leaves < 1:
        raise SettlementError(f"a tree has at least one leaf, got {leaves}")
    return (leaves - 1).bit_length()


def check_index(index: int, *, leaves: int) -> int:
    """0 ≤ index < leaves: padding is not opened."""
    if not 0 <= index < leaves:
        raise SettlementError(f"a leaf's index lies in 0..{leaves - 1}, got {index}")
    return index


def _node(level: bytes, index: int) -> bytes:
    return level[NODE_BYTES * index : NODE_BYTES * (index + 1)]
