"""The comparison of fixed and free adapters, on a small random language model."""

from pathlib import Path

import pytest

from martfl.bench.adapters import bench_adapters


@pytest.mark.long
def test_fixed_adapters_add_up_and_free_ones_do_not(tiny_base: Path) -> None:
    fixed, half, free = bench_adapters(rank=4, steps=6, tokens=32, sellers=2, base=str(tiny_base))
    assert [one.rank for one in (fixed, half, free)] == [4, 2, 4]
    assert fixed.mismatch < 1e-5 < 0.01 < free.mismatch
    assert fixed.parameters < free.parameters
    assert all(one.losses[1] < one.losses[0] for one in (fixed, half, free))
