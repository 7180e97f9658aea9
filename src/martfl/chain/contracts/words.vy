# pragma version 0.4.3
"""
@title One leaf of a sealed update in sampled markets, and whether it is what it was committed to.
@notice The same rules as in `martfl.settlement.sampled.sealed`: a leaf is a sealed word of 21 values beside the salted hash
        that the provider's tree has of it; the last leaf is the hash of the blinding of its 
"""

import hashtree

UPDATE_BITS: constant(uint256) = 12
UPDATE_SLOTS: constant(uint256) = 21
MAX_SAMPLES: constant(uint256) = 126
MAX_PARAMETERS: constant(uint256) = 10 * 2 ** 20  # what a model's tree of 20 levels holds
FIELD: constant(uint256) = 21888242871839275222246405745257275088548364400416034343698204186575808495617


struct Leaf:
    index: uint256
    sealed: bytes32                              # of the last leaf: nothing
    digest: bytes32                              # what the provider committed to
    path: DynArray[bytes32, hashtree.MAX_DEPTH]


@internal
@pure
def root_of_false(parameters: uint256, key: bytes32, leaf: Leaf) -> bytes32:
    # The root of the sealed update that a false leaf belongs to; reverts where the leaf is sound.
    count: uint256 = (parameters + UPDATE_SLOTS - 1) // UPDATE_SLOTS
    assert leaf.index <= count, "trading: no such leaf"
    assert len(leaf.path) == hashtree.depth(count + 1), "trading: path has another length than the tree"
    node: bytes32 = empty(bytes32)
    right: bytes32 = empty(bytes32)
    if leaf.index == count:
        blinding: uint256 = convert(keccak256(concat(key, convert(max_value(uint256), bytes32))), uint256) >> 8
        right = keccak256(convert(blinding, bytes32))
        node = keccak256(leaf.digest)
    else:
        held: uint256 = min(UPDATE_SLOTS, parameters - leaf.index * UPDATE_SLOTS)
        index: bytes32 = convert(leaf.index, bytes32)
        stream: bytes32 = keccak256(concat(key, index, convert(0, bytes32)))
        mask: uint256 = (1 << (UPDATE_BITS * held)) - 1
        word: uint256 = (convert(leaf.sealed, uint256) ^ convert(stream, uint256)) & mask
        salt: bytes32 = keccak256(concat(key, index, convert(1, bytes32)))
        right = keccak256(concat(convert(word, bytes32), salt))
        node = keccak256(concat(leaf.sealed, leaf.digest))
    assert right != leaf.digest, "trading: leaf is sound"
    return hashtree.climb(node, leaf.index, leaf.path)
