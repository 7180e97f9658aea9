"""Cost of settlement: what is measured, for both schemes; how, in `settlement_exact` and `settlement_sampled`."""

from dataclasses import dataclass, field

from martfl.errors import InputError
from martfl.settlement.exact.generators import Progress


@dataclass(frozen=True, kw_only=True)
class SettlementFigures:
    """What was measured; None where a scheme has no such step."""

    scheme: str
    parameters: int
    providers: int
    samples: int | None  # parameters that are checked
    commit_s: float | None = None
    verify_s: float | None = None
    batch_verify_s: float | None = None
    prove_s: float | None = None
    setup_s: float | None = None
    constraints: int | None = None
    proof_bytes: int | None = None
    peak_mb: float
    details: dict[str, float] = field(default_factory=dict)


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
