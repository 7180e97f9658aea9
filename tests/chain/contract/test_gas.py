"""The gas that the documentation promises, at 20 and 30 providers. Gas does not depend on the machine."""

import pytest

from martfl.bench.gas import PAPER, bench_gas


@pytest.mark.parametrize(("providers", "settlement"), [(20, 330_000), (30, 450_000)])
def test_exact_settlement(providers, settlement):
    report = bench_gas(providers=providers, samples=(), gwei=1.0, coin=3000.0)
    assert report.exact["publish_model"] <= settlement
    if providers == 20:
        for name, paper in PAPER.items():
            assert report.exact[name] <= paper, name
    assert report.on_chain.plain_ratio > 1000


def test_delay_function_and_proof():
    report = bench_gas(providers=2, samples=(4,), gwei=1.0, coin=3000.0)
    assert report.sampled.functions["submit_randomness"] <= 300_000
    assert report.sampled.vdf_osaka > 4 * report.sampled.vdf_prague
    assert report.sampled.submit_optimistic < 100_000
