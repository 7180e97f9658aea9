"""A sealed update: handed over before it is bought, readable once its key K is known, and held to its commitment.

    leaf_l = keccak(sealed_l ‖ EIP2537(P_l))       root: of the tree of all leaves (`hash_tree`)
    body   = sealed_0 ‖ sealed_1 ‖ … ‖ P_0 ‖ P_1 ‖ …                 points compressed to 48 bytes
    C      = Σ P_l,    ρ = Σ ρ_l mod r             what `commit` would make of the same update at blinding ρ

Before it pays, a buyer checks the points, the root and the sum (`check_sealed`). After that there are two cases. Every
leaf is what its P_l says: then what it decodes to opens C, with every value in range. Or some leaf is false: then that
leaf alone refutes the seller (`refutation`). Values and ρ_l both come from K, so nothing else has to be delivered.
"""

from dataclasses import dataclass

import numpy as np
from py_arkworks_bls12381 import G1Point

from martfl.arrays import Integers
from martfl.settlement import hash_tree
from martfl.settlement.errors import FileError, OpeningError
from martfl.settlement.exact.blst import Points
from martfl.settlement.exact.commitment import CommitmentKey, Opening
from martfl.settlement.exact.leaf_sums import leaf_points, read_points, sum_points
from martfl.settlement.exact.leaves import LeafShape, blinding, open_leaf, seal_leaf, value_type
from martfl.settlement.exact.plain import ORDER
from martfl.settlement.exact.point import COMPRESSED_BYTES, Commitment, eip2537
from martfl.settlement.hash_tree import HashTree
from martfl.settlement.keccak import keccak
from martfl.settlement.seal import check_root, check_secret


@dataclass(frozen=True)
class ExactSealedUpdate:
    """What a seller commits to and sends before it is paid; nothing here is secret."""

    commitment: Commitment
    root: bytes
    body: bytes

    def __repr__(self) -> str:
        return f"ExactSealedUpdate({self.commitment}, root {self.root.hex()}, {len(self.body)} bytes)"


def seal(update: Integers, key: CommitmentKey, secret: bytes, *, threads: int | None = None) -> ExactSealedUpdate:
    """Seal and commit to a quantised update; `secret` is K, never used for another update.

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> sold = seal(np.array([1, -2, 3], np.int16), key, bytes(range(32)))
        >>> open_sealed(sold.body, bytes(range(32)), key)[0].tolist()
        [1, -2, 3]
    """
    values = key.layout.check_update(update, parameters=key.parameters)
    shape, secret, bits = leaf_shape(key), check_secret(secret), key.layout.bits
    sealed = b"".join(
        seal_leaf(values[shape.values(leaf)], bits=bits, secret=secret, leaf=leaf) for leaf in range(shape.leaves)
    )
    total, coordinates, compressed = G1Point.identity(), [], []
    for point in leaf_points(values, _generators(key), shape=shape, secret=secret, threads=threads):
        total += point
        coordinates.append(bytes(point.to_xy_bytes_be()))
        compressed.append(bytes(point.to_compressed_bytes()))
    root = leaf_tree(sealed, coordinates, key).root
    return ExactSealedUpdate(Commitment.from_point(total), root, b"".join([sealed, *compressed]))


def opening_of(secret: bytes, key: CommitmentKey) -> Opening:
    """ρ = Σ ρ_l mod r, for anybody who knows K.

    Examples:
        >>> import numpy as np
        >>> from martfl.settlement.exact import verify_opening
        >>> key = CommitmentKey.load(parameters=3)
        >>> update, secret = np.array([1, -2, 3], np.int16), bytes(range(32))
        >>> verify_opening(update, seal(update, key, secret).commitment, opening_of(secret, key), key)
        True
    """
    secret = check_secret(secret)
    return Opening(sum(blinding(secret, leaf) for leaf in range(leaf_shape(key).leaves)) % ORDER)


def check_sealed(body: bytes, *, commitment: Commitment, root: bytes, key: CommitmentKey) -> None:
    """Raise unless `body` has the right size, its points are sound, its tree has this root and Σ P_l = C.

    root = the tree's over keccak(sealed_l ‖ P_l), Σ P_l = C

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> sold = seal(np.array([1, -2, 3], np.int16), key, bytes(range(32)))
        >>> check_sealed(sold.body, commitment=sold.commitment, root=sold.root, key=key)  # raises where it does not fit
    """
    sealed, coordinates = split_body(body, key)
    found = leaf_tree(sealed, coordinates, key).root
    if found != check_root(root):
        raise OpeningError(f"the sealed update has the root {found.hex()}, shown was {root.hex()}")
    if sum_points(coordinates) != commitment.to_point():
        raise OpeningError(f"the parts of the sealed update do not add up to {commitment}")


def open_sealed(body: bytes, secret: bytes, key: CommitmentKey) -> tuple[Integers, Opening]:
    """What `body` decodes to under K, always in range, and ρ. Whether they open C is for `check_opening` to say.

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> sold = seal(np.array([1, -2, 3], np.int16), key, bytes(range(32)))
        >>> values, opening = open_sealed(sold.body, bytes(range(32)), key)
        >>> values.tolist()
        [1, -2, 3]
    """
    shape, secret, bits = leaf_shape(key), check_secret(secret), key.layout.bits
    sealed = _sealed_part(body, shape)
    values: Integers = np.empty(shape.parameters, value_type(bits))
    for leaf in range(shape.leaves):
        part = sealed[shape.sealed(leaf)]
        values[shape.values(leaf)] = open_leaf(part, bits=bits, secret=secret, leaf=leaf)
    return values, opening_of(secret, key)


def find_false_leaf(body: bytes, secret: bytes, key: CommitmentKey, *, threads: int | None = None) -> int | None:
    """The first leaf whose P_l is not that of the values it decodes to; None where all are true.

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> sold = seal(np.array([1, -2, 3], np.int16), key, bytes(range(32)))
        >>> find_false_leaf(sold.body, bytes(range(32)), key) is None
        True
        >>> find_false_leaf(sold.body, bytes(32), key)  # under another key
        0
    """
    shape, (values, _) = leaf_shape(key), open_sealed(body, secret, key)
    expected = leaf_points(values, _generators(key), shape=shape, secret=check_secret(secret), threads=threads)
    for leaf, point in enumerate(expected):
        at = shape.sealed_bytes + COMPRESSED_BYTES * leaf
        if bytes(point.to_compressed_bytes()) != body[at : at + COMPRESSED_BYTES]:
            return leaf
    return None


def leaf_shape(key: CommitmentKey) -> LeafShape:
    """The leaves of every update under this key."""
    return LeafShape(layout=key.layout, parameters=key.parameters)


def split_body(body: bytes, key: CommitmentKey) -> tuple[bytes, list[bytes]]:
    """The sealed bytes, and the coordinates of every P_l, checked."""
    shape = leaf_shape(key)
    return _sealed_part(body, shape), read_points(body[shape.sealed_bytes :])


def leaf_tree(sealed: bytes, coordinates: list[bytes], key: CommitmentKey) -> HashTree:
    """The tree whose root the seller shows."""
    shape = leaf_shape(key)
    return hash_tree.build(keccak(sealed[shape.sealed(leaf)] + eip2537(xy)) for leaf, xy in enumerate(coordinates))


def _sealed_part(body: bytes, shape: LeafShape) -> bytes:
    expected = shape.sealed_bytes + COMPRESSED_BYTES * shape.leaves
    if len(body) != expected:
        raise FileError(f"a sealed update of {shape.parameters} values has {expected} bytes, got {len(body)}")
    return body[: shape.sealed_bytes]


def _generators(key: CommitmentKey) -> Points:
    return key.generators.take(key.layout.points(key.parameters))
