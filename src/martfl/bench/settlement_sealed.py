"""Cost of sealed updates: what a seller does before it is bought, what its buyer does before and after.

CPU seconds of one thread. `sealed_bytes` is what goes over the wire, `bare_bytes` a file of the values alone;
`parts_{n}_cpu_s` and `parts_{n}_bytes` are the points of leaves with n scalars, alone.
"""

from collections import deque
from functools import partial

import numpy as np

from martfl.arrays import Integers
from martfl.bench.settlement_figures import Details
from martfl.measure import timed
from martfl.settlement import integer_file
from martfl.settlement.exact import (
    CommitmentKey,
    check_sealed,
    find_false_leaf,
    generator_root,
    open_sealed,
    refutation,
    seal,
)
from martfl.settlement.exact.leaf_sums import leaf_points
from martfl.settlement.exact.leaves import LeafShape
from martfl.settlement.exact.point import COMPRESSED_BYTES
from martfl.settlement.integer_file import IntegerVector
from martfl.settlement.sampled import sealed as words
from martfl.settlement.sampled.epoch import Update
from martfl.settlement.sampled.merkle import TreeShape
from martfl.settlement.seal import new_secret

LEAF_SIZES = (128, 256, 512)  # scalars in a leaf; the protocol has 256


def bench_sealed_exact(update: Integers, key: CommitmentKey) -> Details:
    """An honest update from sealing to opening, and what it takes to look for a false leaf."""
    secret = new_secret()
    made = timed(lambda: seal(update, key, secret, threads=1))
    sealed = made.value
    checked = timed(lambda: check_sealed(sealed.body, commitment=sealed.commitment, root=sealed.root, key=key))
    opened = timed(lambda: open_sealed(sealed.body, secret, key))
    searched = timed(lambda: find_false_leaf(sealed.body, secret, key, threads=1))
    tree = timed(lambda: generator_root(key))
    shown = timed(lambda: refutation(sealed.body, secret, key, 0))
    if not np.array_equal(opened.value[0], update) or searched.value is not None:
        raise AssertionError("an honest update did not open: this run's figures mean nothing")
    vector = IntegerVector(kind="update", values=update, scale=1.0, epoch=0, bits=key.layout.bits)
    return {
        "seal_cpu_s": made.cpu_s,
        "check_sealed_cpu_s": checked.cpu_s,
        "open_cpu_s": opened.cpu_s,
        "find_false_leaf_cpu_s": searched.cpu_s,
        "generator_root_cpu_s": tree.cpu_s,
        "refutation_cpu_s": shown.cpu_s,
        "sealed_bytes": len(sealed.body),
        "bare_bytes": len(integer_file.to_bytes(vector)),
        **_leaf_sizes(update, key, secret),
    }


def bench_sealed_sampled(update: Update, *, bits: int) -> Details:
    """The same for the sampled scheme, whose leaves are words."""
    secret, shape = new_secret(), TreeShape(parameters=len(update), bits=bits)
    made = timed(lambda: words.seal(update, shape, secret))
    sealed = made.value
    checked = timed(
        lambda: words.check_sealed(sealed.body, commitment=sealed.commitment, root=sealed.root, shape=shape)
    )
    opened = timed(lambda: words.open_sealed(sealed.body, secret, shape))
    searched = timed(lambda: words.find_false_leaf(sealed.body, secret, shape))
    if not np.array_equal(opened.value[0], update) or searched.value is not None:
        raise AssertionError("an honest update did not open: this run's figures mean nothing")
    return {
        "seal_cpu_s": made.cpu_s,
        "check_sealed_cpu_s": checked.cpu_s,
        "open_cpu_s": opened.cpu_s,
        "find_false_leaf_cpu_s": searched.cpu_s,
        "sealed_bytes": len(sealed.body),
        "bare_bytes": -(-bits // 8) * len(update),
    }


def _leaf_sizes(update: Integers, key: CommitmentKey, secret: bytes) -> Details:
    details: Details = {}
    points = key.generators.take(key.layout.points(key.parameters))
    shapes = [LeafShape(layout=key.layout, parameters=key.parameters, scalars=scalars) for scalars in LEAF_SIZES]
    for shape in shapes:
        parts = leaf_points(update, points, shape=shape, secret=secret, threads=1)
        details[f"parts_{shape.scalars}_cpu_s"] = timed(partial(deque, parts, maxlen=0)).cpu_s
        details[f"parts_{shape.scalars}_bytes"] = COMPRESSED_BYTES * shape.leaves
    return details
