"""Cost of settlement, for both schemes; how it is measured, in `settlement_exact` and `settlement_sampled`."""

from martfl.bench.settlement_figures import SettlementFigures
from martfl.errors import InputError
from martfl.settlement.exact.generators import Progress


def bench_settlement(
    *, scheme: str, parameters: int, providers: int, samples: int, progress: Progress | None = None
) -> SettlementFigures:
    """Measure one scheme; `samples` concerns the sampled one only."""
    if parameters < 1 or providers < 1:
        raise InputError(f"at least one parameter and one provider, got {parameters} and {providers}")
    if scheme == "exact":
        from martfl.bench.settlement_exact import bench_exact

        return bench_exact(parameters=parameters, providers=providers, progress=progress)
    if scheme == "sampled":
        from martfl.bench.settlement_sampled import bench_sampled

        return bench_sampled(parameters=parameters, providers=providers, samples=samples)
    raise InputError(f"scheme must be 'exact' or 'sampled', got {scheme!r}")
