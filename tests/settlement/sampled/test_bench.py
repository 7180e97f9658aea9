"""The benchmark runs, and its figures are those of the run."""

import pytest

from martfl.bench.settlement import bench_settlement
from martfl.bench.settlement_sampled import authors_constraints
from martfl.settlement import SettlementError
from martfl.settlement.sampled.circuit import compile_circuit
from martfl.settlement.sampled.statement import Shape


def test_figures_of_a_small_market():
    figures = bench_settlement(scheme="sampled", parameters=60, providers=2, samples=2)
    assert figures.constraints == compile_circuit(Shape(providers=2, samples=2)).constraints
    assert figures.proof_bytes == 128
    assert figures.details["public_inputs"] == 2 + 1 + 1 + 1
    assert min(figures.details[f"{name}_cpu_s"] for name in ("seal", "check_sealed", "open")) > 0
    assert figures.details["sealed_bytes"] == 3 * 64 + 32  # three words
    assert min(figures.setup_s, figures.prove_s, figures.verify_s, figures.commit_s) > 0


def test_the_authors_sizes_are_met_where_they_are_known():
    assert authors_constraints(providers=4, samples=10) == 14_000
    assert authors_constraints(providers=20, samples=64) == 172_800


def test_more_samples_than_parameters_are_refused():
    with pytest.raises(SettlementError, match="samples"):
        bench_settlement(scheme="sampled", parameters=3, providers=2, samples=4)
