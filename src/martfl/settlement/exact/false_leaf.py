"""One false leaf, shown to the contract: everything it needs to see for itself, and its ruling in plain Python.

A leaf is false if its P_l is not Σ scalar_j·G + ρ_l·H for the values that it decodes to under K. The contract is given
the sealed bytes, P_l and their path under the root; the points G with their path under the generators' root; and the
scalars beside their points, as the precompile G1MSM takes them. It computes the scalars itself and compares.
"""

from dataclasses import dataclass, field

from martfl.settlement import hash_tree
from martfl.settlement.errors import SettlementError
from martfl.settlement.exact.commitment import CommitmentKey
from martfl.settlement.exact.generator_tree import generator_leaf, generator_tree
from martfl.settlement.exact.generators import blinding_generator
from martfl.settlement.exact.layout import SlotLayout
from martfl.settlement.exact.leaves import LeafShape, blinding, code_bytes, open_leaf
from martfl.settlement.exact.plain import ORDER, multiexp
from martfl.settlement.exact.point import EIP2537_BYTES, Commitment, eip2537
from martfl.settlement.exact.sealed import leaf_shape, leaf_tree, split_body
from martfl.settlement.hash_tree import check_index
from martfl.settlement.keccak import keccak, word
from martfl.settlement.seal import check_secret, seal_digest

PAIR_BYTES = EIP2537_BYTES + 32


@dataclass(frozen=True)
class ExactRefutation:
    """What the contract's `refute` takes."""

    secret: bytes = field(repr=False)  # K, which is on chain by then
    index: int
    sealed: bytes  # sealed_l, filled up with zeros to whole words
    part: bytes  # EIP2537(P_l)
    path: tuple[bytes, ...]  # of leaf_l in the sealed tree
    pairs: bytes  # EIP2537(H) ‖ ρ_l, then EIP2537(G) ‖ scalar for each scalar of the leaf
    generators: tuple[bytes, ...]  # path of the leaf in the generators' tree


def refutation(body: bytes, secret: bytes, key: CommitmentKey, leaf: int) -> ExactRefutation:
    """The refutation by leaf number `leaf`; it holds where that leaf is false (`find_false_leaf`).

    Examples:
        >>> import numpy as np
        >>> from martfl.settlement.exact import seal
        >>> key = CommitmentKey.load(parameters=3)
        >>> sold = seal(np.array([1, -2, 3], np.int16), key, bytes(range(32)))
        >>> refutation(sold.body, bytes(32), key, 0).index
        0
    """
    shape, secret = leaf_shape(key), check_secret(secret)
    check_index(leaf, leaves=shape.leaves)
    sealed, coordinates = split_body(body, key)
    own = sealed[shape.sealed(leaf)]
    values = open_leaf(own, bits=key.layout.bits, secret=secret, leaf=leaf)
    factors = scalars([int(v) for v in values], key.layout)
    bases = key.generators.coordinates(shape.points(leaf))
    hidden = Commitment.from_point(blinding_generator()).to_eip2537() + word(blinding(secret, leaf))
    pairs = [eip2537(xy) + word(factor) for xy, factor in zip(bases, factors, strict=True)]
    return ExactRefutation(
        secret=secret,
        index=leaf,
        sealed=own + bytes(-len(own) % 32),
        part=eip2537(coordinates[leaf]),
        path=leaf_tree(sealed, coordinates, key).path(leaf),
        pairs=b"".join([hidden, *pairs]),
        generators=generator_tree(key).path(leaf),
    )


def refutes(
    refutation: ExactRefutation, *, seal: bytes, root: bytes, generator_root: bytes, layout: SlotLayout, parameters: int
) -> bool:
    """The contract's ruling, step by step: the leaf is the seller's, the sum is over its own values, and it differs.

    `seal` is what the seller committed to (`seal_digest`), `root` the one that was shown.

    Examples:
        >>> import numpy as np
        >>> from martfl.settlement.exact import generator_root, seal
        >>> key, secret = CommitmentKey.load(parameters=3), bytes(range(32))
        >>> sold = seal(np.array([1, -2, 3], np.int16), key, secret)
        >>> shown = refutation(sold.body, secret, key, 0)
        >>> where = {'generator_root': generator_root(key), 'layout': key.layout, 'parameters': 3}
        >>> refutes(shown, seal=seal_digest(sold.root, secret), root=sold.root, **where)  # an honest leaf
        False
    """
    shape = LeafShape(layout=layout, parameters=parameters)
    try:
        if seal_digest(root, refutation.secret) != seal:
            return False
        sealed = _true_bytes(refutation, shape)
        leaf = keccak(sealed + refutation.part)
        found = hash_tree.climb(leaf, index=refutation.index, path=refutation.path, leaves=shape.leaves)
        if found != root or not _pairs_hold(refutation, sealed, shape, generator_root):
            return False
        return _sum(refutation.pairs) != refutation.part
    except SettlementError:
        return False


def scalars(values: list[int], layout: SlotLayout) -> list[int]:
    """scalar_j = Σ_t v_{s·j+t}·2^(w·t) mod r; missing values of the last one are 0."""
    rows = (values[at : at + layout.slots] for at in range(0, len(values), layout.slots))
    return [sum(v << (layout.width * t) for t, v in enumerate(row)) % ORDER for row in rows]


def _true_bytes(shown: ExactRefutation, shape: LeafShape) -> bytes:
    """The sealed bytes of the leaf, without what fills them up to whole words."""
    where = shape.sealed(shown.index)
    size = where.stop - where.start
    if len(shown.sealed) != -(-size // 32) * 32:
        raise SettlementError(f"leaf {shown.index} has {size} bytes, filled up to words, got {len(shown.sealed)}")
    return shown.sealed[:size]


def _pairs_hold(shown: ExactRefutation, sealed: bytes, shape: LeafShape, generator_root: bytes) -> bool:
    """Whether the pairs are H, the leaf's generators and the scalars that its sealed bytes decode to."""
    factors = scalars(_decoded(shown, sealed, shape.layout.bits), shape.layout)
    pairs = [shown.pairs[at : at + PAIR_BYTES] for at in range(0, len(shown.pairs), PAIR_BYTES)]
    points, words = [pair[:EIP2537_BYTES] for pair in pairs], [pair[EIP2537_BYTES:] for pair in pairs]
    if words != [word(x) for x in (blinding(shown.secret, shown.index), *factors)]:
        return False
    if points[0] != Commitment.from_point(blinding_generator()).to_eip2537():
        return False
    base = generator_leaf(points[1:])
    climbed = hash_tree.climb(base, index=shown.index, path=shown.generators, leaves=shape.leaves)
    return climbed == generator_root


def _decoded(shown: ExactRefutation, sealed: bytes, bits: int) -> list[int]:
    """The values of the sealed bytes, one by one, as the contract reads them."""
    prefix, size, values = shown.secret + word(shown.index), code_bytes(bits), []
    for at in range(0, len(sealed), size):
        pad = keccak(prefix + word(at // 32))[at % 32 : at % 32 + size]
        code = int.from_bytes(sealed[at : at + size], "big") ^ int.from_bytes(pad, "big")
        values.append(min(max(code, 1), (1 << bits) - 1) - (1 << (bits - 1)))
    return values


def _sum(pairs: bytes) -> bytes:
    """G1MSM: Σ factor·point, infinity as zeros."""
    cut = [pairs[at : at + PAIR_BYTES] for at in range(0, len(pairs), PAIR_BYTES)]
    points = [Commitment.from_eip2537(pair[:EIP2537_BYTES]).to_point() for pair in cut]
    total = multiexp(points, [int.from_bytes(pair[EIP2537_BYTES:], "big") for pair in cut])
    return eip2537(bytes(total.to_xy_bytes_be()))
