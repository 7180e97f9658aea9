"""The benchmark runs, its figures are those of the run, and the peer commits to what it says."""

import numpy as np
from py_arkworks_bls12381 import G1Point

from martfl.bench.settlement import bench_settlement
from martfl.bench.settlement_peer import LAYOUT, Peer
from martfl.settlement.exact.plain import multiexp


def test_figures_of_a_small_market():
    figures = bench_settlement(scheme="exact", parameters=1000, providers=3, samples=64)
    assert (figures.scheme, figures.samples, figures.proof_bytes) == ("exact", 1000, 32)
    assert figures.prove_s is None is figures.constraints
    for name, seconds in (
        ("commit", figures.commit_s),
        ("verify", figures.verify_s),
        ("batch_verify", figures.batch_verify_s),
    ):
        assert seconds > 0
        assert figures.details[f"{name}_ratio"] == figures.details[f"peer_{name}_s"] / seconds
        assert figures.details[f"{name}_gain"] > 0
    sealed = figures.details
    assert min(sealed[f"{name}_cpu_s"] for name in ("seal", "check_sealed", "open")) > 0
    assert sealed["sealed_bytes"] == 2 * 1000 + 48  # one leaf
    assert sealed["parts_128_bytes"] == 2 * 48


def test_the_peer_commits_to_offset_values_seven_to_a_scalar(generators):
    assert (LAYOUT.width, LAYOUT.slots) == (32, 7)
    peer = Peer.load(generators, parameters=9)
    for values, offset, commit in (
        (np.array([-32767, 5, 0, 1, 2, 3, 4, 32767, -1], np.int16), 1 << 15, peer.commit),
        (np.array([-(2**31) + 1, 5, 0, 1, 2, 3, 4, 2**31 - 1, -1]), 1 << 31, peer.commit_aggregate),
    ):
        shifted = [int(v) + offset for v in values]
        packed = [sum(v << (32 * i) for i, v in enumerate(group)) for group in (shifted[:7], shifted[7:])]
        assert commit(values) == multiexp(generators.points(2), packed) != G1Point.identity()
