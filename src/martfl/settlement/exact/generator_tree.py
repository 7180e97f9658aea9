"""The tree of the generators, public, of the same shape as that of a sealed update: the contract keeps its root.

    leaf l of n_l points:  g_0 = 32 zero bytes,  g_{j+1} = keccak(g_j ‖ EIP2537(G_{256·l+j})),  leaf = g_{n_l}

A whole leaf does not depend on how many generators there are. So whole leaves lie in a file beside the generators, two
leaves for each block of generators, and are pinned as far as the generators are.
"""

from collections.abc import Iterable
from pathlib import Path

from martfl.settlement import hash_tree
from martfl.settlement.exact.cache_file import CacheFile
from martfl.settlement.exact.commitment import CommitmentKey
from martfl.settlement.exact.generators import BLOCK_POINTS, Generators
from martfl.settlement.exact.leaves import LEAF_SCALARS
from martfl.settlement.exact.point import eip2537
from martfl.settlement.hash_tree import NODE_BYTES, HashTree
from martfl.settlement.keccak import keccak

_LEAVES_A_BLOCK = BLOCK_POINTS // LEAF_SCALARS
FILE = CacheFile(
    name="generator-leaves-v1.bin",
    magic=b"MARTFLGL",
    version=1,
    block_bytes=NODE_BYTES * _LEAVES_A_BLOCK,
    pinned="leaf_pins.json",
)


def generator_root(key: CommitmentKey, *, folder: Path | None = None) -> bytes:
    """What the contract of a market with this key is deployed with.

    Examples:
        >>> key = CommitmentKey.load(parameters=3)
        >>> generator_root(key).hex()[:16]
        '69da724518aa8b4e'
    """
    return generator_tree(key, folder=folder).root


def generator_tree(key: CommitmentKey, *, folder: Path | None = None) -> HashTree:
    """The tree over exactly as many generators as the key's updates need."""
    count = key.layout.points(key.parameters)
    whole, rest = divmod(count, LEAF_SCALARS)
    leaves = b"".join(_whole_leaves(key.generators, whole, folder))[: NODE_BYTES * whole]
    if rest:
        leaves += _leaf(key.generators, slice(LEAF_SCALARS * whole, count))
    return hash_tree.build([leaves])


def generator_leaf(points: Iterable[bytes]) -> bytes:
    """The digest of a leaf's points, 128 bytes each, one after the other as the contract meets them."""
    digest = bytes(NODE_BYTES)
    for point in points:
        digest = keccak(digest + point)
    return digest


def make_block(generators: Generators, number: int) -> bytes:
    """The leaves of one block of generators."""
    first = BLOCK_POINTS * number
    starts = range(first, first + BLOCK_POINTS, LEAF_SCALARS)
    return b"".join(_leaf(generators, slice(at, at + LEAF_SCALARS)) for at in starts)


def _whole_leaves(generators: Generators, leaves: int, folder: Path | None) -> list[bytes]:
    if not leaves:
        return []

    def make(first: int, stop: int) -> list[bytes]:
        return [make_block(generators, number) for number in range(first, stop)]

    return FILE.load(-(-leaves // _LEAVES_A_BLOCK), make, folder=folder)


def _leaf(generators: Generators, where: slice) -> bytes:
    return generator_leaf(eip2537(xy) for xy in generators.coordinates(where))
