"""Cost of settlement: the exact scheme here, the sampled one in `settlement_sampled`.

Seconds named `*_s` are CPU seconds of one thread, which other load on the machine hardly moves; `*_wall_s` are
wall-clock seconds on every core, and `*_gain` is wall-clock on one thread over wall-clock on all.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TypeVar

import numpy as np

from martfl.bench.measure import peak_mb, timed
from martfl.errors import InputError
from martfl.settlement import FixedPoint, integer_weights
from martfl.settlement.exact import (
    INITIAL_BLINDING,
    Commitment,
    CommitmentKey,
    Opening,
    SlotLayout,
    aggregate,
    batch_verify_openings,
    combine,
    combine_blindings,
    commit,
    commit_initial,
    verify_model,
    verify_opening,
    verify_step,
)
from martfl.settlement.exact.generators import Progress
from martfl.settlement.exact.plain import ORDER, multiexp
from martfl.settlement.fixed_point import Integers

T = TypeVar("T")


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
        return _bench_exact(parameters, providers, progress)
    if scheme == "sampled":
        room = import_module("martfl.bench.settlement_sampled")
        figures: SettlementFigures = room.bench_sampled(parameters=parameters, providers=providers, samples=samples)
        return figures
    raise InputError(f"scheme must be 'exact' or 'sampled', got {scheme!r}")


def _bench_exact(parameters: int, providers: int, progress: Progress | None) -> SettlementFigures:
    layout = SlotLayout()
    setup = timed(lambda: CommitmentKey.load(parameters=parameters, layout=layout, progress=progress))
    key = setup.value
    details: dict[str, float] = {"points": layout.points(parameters), "slots": layout.slots, "width": layout.width}
    updates, commitments, openings = _openings(key, providers)
    commit_s = _measure("commit", lambda n: commit(updates[0], key, threads=n), details)
    _measure(
        "opening", lambda n: _sure(verify_opening(updates[0], commitments[0], openings[0], key, threads=n)), details
    )
    batch_s = _measure(
        "batch_verify",
        lambda n: _sure(batch_verify_openings(updates, commitments, openings, key, threads=n)),
        details,
    )
    verify_s = _bench_model(key, updates, commitments, openings, details)
    return SettlementFigures(
        scheme="exact",
        parameters=parameters,
        providers=providers,
        samples=parameters,
        commit_s=commit_s,
        verify_s=verify_s,
        batch_verify_s=batch_s,
        setup_s=setup.wall_s,
        proof_bytes=len(Opening(0).to_bytes()),  # the revealed blinding; the commitments are on chain anyway
        peak_mb=peak_mb(),
        details=details,
    )


def _bench_model(
    key: CommitmentKey,
    updates: list[Integers],
    commitments: list[Commitment],
    openings: list[Opening],
    details: dict[str, float],
) -> float:
    """CPU seconds to check the aggregate; those to check the whole model against its commitment go to the details."""
    start = FixedPoint(scale=2.0**-18).quantise_model(np.random.default_rng(2).normal(0, 0.05, key.parameters))
    weights = integer_weights([1.0 + i % 3 for i in range(len(updates))])
    added = timed(lambda: aggregate(start, weights, updates, layout=key.layout))
    details["aggregate_s"], model = added.cpu_s, added.value
    updates.clear()  # who checks a model does not hold the updates
    running = combine(commit_initial(start, key), weights, commitments)
    blinding = combine_blindings(INITIAL_BLINDING, weights, openings)
    step = (blinding - INITIAL_BLINDING) % ORDER
    details["model_s"] = _measure(
        "model", lambda n: _sure(verify_model(model, blinding, running, key, threads=n)), details
    )
    return _measure(
        "verify",
        lambda n: _sure(verify_step(start, model, step, weights, commitments, key, threads=n)),
        details,
    )


def _measure(name: str, work: Callable[[int | None], T], details: dict[str, float]) -> float:
    """CPU seconds on one thread; wall-clock of one and of all threads go to the details."""
    one, every = timed(lambda: work(1)), timed(lambda: work(None))
    details[f"{name}_wall_s"] = every.wall_s
    details[f"{name}_gain"] = one.wall_s / every.wall_s
    return one.cpu_s


def _openings(key: CommitmentKey, providers: int) -> tuple[list[Integers], list[Commitment], list[Opening]]:
    """Valid openings at the price of two: q_i = a_i·e + b_i·f, and the commitments combine in the same way.

    Verifying them costs what any others cost, since the random challenges make every scalar uniform.
    """
    rng = np.random.default_rng(1)
    limit = key.layout.update_bound // 16  # |a|, |b| ≤ 8 keep every q in range
    bases = [
        np.clip(np.rint(rng.normal(0, limit / 3, key.parameters)), -limit, limit).astype(np.int32) for _ in range(2)
    ]
    points, blindings = zip(*((c.to_point(), o.blinding) for c, o in (commit(b, key) for b in bases)), strict=True)
    updates: list[Integers] = []
    commitments, openings = [], []
    for _ in range(providers):
        a, b = (int(x) for x in rng.integers(1, 8, 2, endpoint=True) * rng.choice([-1, 1], 2))
        updates.append((a * bases[0] + b * bases[1]).astype(np.int16))
        commitments.append(Commitment.from_point(multiexp(points, [a, b])))
        openings.append(Opening((a * blindings[0] + b * blindings[1]) % ORDER))
    return updates, commitments, openings


def _sure(accepted: bool) -> None:
    if not accepted:
        raise AssertionError("an honest input was rejected: this run's figures mean nothing")
