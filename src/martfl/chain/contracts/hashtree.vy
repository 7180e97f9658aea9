# pragma version 0.4.3
"""
@title Binary trees of Keccak-256: node = keccak(left, right), leaves filled up with zero words to a power of two.
"""

MAX_DEPTH: constant(uint256) = 24


@internal
@pure
def depth(leaves: uint256) -> uint256:
    height: uint256 = 0
    for i: uint256 in range(MAX_DEPTH):
        if (1 << height) >= leaves:
            break
        height += 1
    return height


@internal
@pure
def climb(leaf: bytes32, index: uint256, path: DynArray[bytes32, MAX_DEPTH]) -> bytes32:
    # The root above a leaf. The caller has checked the length of the path, and that the index is below 2^length.
    node: bytes32 = leaf
    at: uint256 = index
    for sibling: bytes32 in path:
        node = keccak256(concat(node, sibling)) if at & 1 == 0 else keccak256(concat(sibling, node))
        at = at >> 1
    return node
