"""What is measured of settlement, for both schemes."""

from dataclasses import dataclass, field

Details = dict[str, float]  # what one scheme alone has, by name


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
    details: Details = field(default_factory=dict)
