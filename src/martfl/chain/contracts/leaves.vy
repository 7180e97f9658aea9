# pragma version 0.4.3
"""
@title One leaf of a sealed update, and whether it is what it was committed to.
@notice The same rules as in `martfl.settlement.exact.sealed`: 256 scalars in a leaf, several values in a scalar, each value
        sealed by a stream that the key makes. A leaf is false where its commitment is not that of the values it opens to.
"""

import curve
import hashtree

SCALARS: constant(uint256) = 256              # in a leaf
MAX_SLOTS: constant(uint256) = 6              # values in a scalar
MAX_BITS: constant(uint256) = 32              # of a value
MAX_PARAMETERS: constant(uint256) = SCALARS * 2 ** hashtree.MAX_DEPTH  # no more leaves than the deepest tree has places
MAX_SEALED: constant(uint256) = SCALARS * MAX_SLOTS * 4
MAX_PAIRS: constant(uint256) = curve.PAIR * (SCALARS + 1)
SHIFT: constant(uint256) = 10920338887063814464675503992315976177888879664585288394250266608035967270910  # 2^256 modulo the order
H: constant(Bytes[128]) = x"000000000000000000000000000000000085a33b7a5114a3e1ebfe84b86e04b1c72e582788139955f9e64b6db596adff0484c90b7bca8b463065b3c867c1fc9e0000000000000000000000000000000012f8a42d933920981505193c9ecb24ccb6cba88613fb0460a9e7e70c97ebbbec8fc3d64c552c879816b49546d4e512cc"


struct Layout:
    parameters: uint256
    bits: uint256        # of a value
    width: uint256       # of a slot
    slots: uint256       # values in a scalar
    generators: bytes32  # root of the generators' tree


struct Leaf:
    index: uint256
    sealed: Bytes[MAX_SEALED]                               # filled up with zeros to whole words
    part: Bytes[128]                                        # the leaf's commitment
    path: DynArray[bytes32, hashtree.MAX_DEPTH]
    pairs: Bytes[MAX_PAIRS]                                 # H and its scalar, then the generators and theirs
    generators: DynArray[bytes32, hashtree.MAX_DEPTH]       # path in the generators' tree


@internal
@pure
def check(layout: Layout):
    assert layout.parameters > 0 and layout.parameters <= MAX_PARAMETERS, "trading: parameters must be 1 to 2^32"
    assert layout.bits >= 2 and layout.bits <= MAX_BITS, "trading: bits must be 2 to 32"
    assert layout.slots > 0 and layout.slots <= MAX_SLOTS, "trading: slots must be 1 to 6"
    assert layout.width > layout.bits and layout.width * layout.slots <= 254, "trading: slots do not fit a scalar"


@internal
@view
def root_of_false(layout: Layout, key: bytes32, leaf: Leaf) -> bytes32:
    # The root of the sealed update that a false leaf belongs to; reverts where the leaf is sound.
    held: uint256 = SCALARS * layout.slots
    leaves: uint256 = (layout.parameters + held - 1) // held
    assert leaf.index < leaves, "trading: no such leaf"
    depth: uint256 = hashtree.depth(leaves)
    assert len(leaf.path) == depth and len(leaf.generators) == depth, "trading: path has another length than the tree"
    count: uint256 = min(held, layout.parameters - leaf.index * held)
    size: uint256 = self._size(layout.bits)
    assert len(leaf.part) == curve.POINT, "trading: point is not 128 bytes"
    assert len(leaf.sealed) == (count * size + 31) // 32 * 32, "trading: leaf has another length"
    generators: bytes32 = self._read_pairs(layout, key, leaf, count, size)
    assert hashtree.climb(generators, leaf.index, leaf.generators) == layout.generators, "trading: not the generators"
    ok: bool = False
    out: Bytes[128] = b""
    ok, out = raw_call(curve.G1MSM, leaf.pairs, max_outsize=128, is_static_call=True, revert_on_failure=False)
    assert ok and len(out) == curve.POINT, "trading: points do not add up"
    assert out != leaf.part, "trading: leaf is sound"
    node: bytes32 = keccak256(concat(slice(leaf.sealed, 0, count * size), leaf.part))
    return hashtree.climb(node, leaf.index, leaf.path)


@internal
@pure
def _size(bits: uint256) -> uint256:
    # Bytes of a value: one, two or four, so that none lies across two words.
    if bits <= 8:
        return 1
    return 2 if bits <= 16 else 4


@internal
@pure
def _read_pairs(layout: Layout, key: bytes32, leaf: Leaf, count: uint256, size: uint256) -> bytes32:
    # Checks every scalar against what the leaf opens to under the key; returns the digest of the generators.
    scalars: uint256 = (count + layout.slots - 1) // layout.slots
    assert len(leaf.pairs) == curve.PAIR * (scalars + 1), "trading: one pair for each scalar and the blinding"
    assert slice(leaf.pairs, 0, 128) == H, "trading: not the generator of blindings"
    assert convert(extract32(leaf.pairs, 128), uint256) == self._blinding(key, leaf.index), "trading: not the blinding"
    half: int256 = convert(1 << (layout.bits - 1), int256)
    highest: uint256 = (1 << layout.bits) - 1
    mask: uint256 = (1 << (8 * size)) - 1
    word: uint256 = 0
    value: uint256 = 0  # the next one's number in the leaf
    at: uint256 = curve.PAIR
    generators: bytes32 = empty(bytes32)
    for j: uint256 in range(scalars, bound=SCALARS):
        scalar: int256 = 0
        for t: uint256 in range(layout.slots, bound=MAX_SLOTS):
            if value == count:
                break
            byte: uint256 = value * size
            if byte % 32 == 0:
                stream: bytes32 = keccak256(concat(key, convert(leaf.index, bytes32), convert(byte // 32, bytes32)))
                word = convert(extract32(leaf.sealed, byte), uint256) ^ convert(stream, uint256)
            code: uint256 = min(max((word >> (256 - 8 * (byte % 32 + size))) & mask, 1), highest)
            scalar += (convert(code, int256) - half) * convert(1 << (layout.width * t), int256)
            value += 1
        expected: uint256 = convert(scalar, uint256) if scalar >= 0 else curve.ORDER - convert(-scalar, uint256)
        assert convert(extract32(leaf.pairs, at + 128), uint256) == expected, "trading: not the leaf's scalar"
        generators = keccak256(concat(generators, slice(leaf.pairs, at, 128)))
        at += curve.PAIR
    return generators


@internal
@pure
def _blinding(key: bytes32, index: uint256) -> uint256:
    # 512 bits modulo the order: no value is likelier than another.
    high: uint256 = convert(
        keccak256(concat(key, convert(index, bytes32), convert(max_value(uint256), bytes32))), uint256
    )
    low: uint256 = convert(
        keccak256(concat(key, convert(index, bytes32), convert(max_value(uint256) - 1, bytes32))), uint256
    )
    return uint256_addmod(uint256_mulmod(high, SHIFT, curve.ORDER), low, curve.ORDER)
