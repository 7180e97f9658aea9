"""Cost of exact settlement, beside the plain layout on the same generators in the same run (`settlement_peer`).

Seconds named `*_s` are CPU seconds of one thread, which other load on the machine hardly moves; `*_wall_s` are
wall-clock seconds on every core, `*_gain` is wall-clock on one thread over wall-clock on all, `*_ratio` is the peer's
CPU time over ours. `verify` checks the whole model; `step`, what an epoch added; the peer's `verify`, what it added.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from martfl.arrays import Integers
from martfl.bench.settlement_figures import Details, SettlementFigures
from martfl.bench.settlement_peer import Peer
from martfl.bench.settlement_sealed import bench_sealed_exact
from martfl.measure import peak_mb, timed
from martfl.settlement import FixedPoint, integer_weights
from martfl.settlement.exact import (
    INITIAL_BLINDING,
    Commitment,
    CommitmentKey,
    Opening,
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

T = TypeVar("T")


@dataclass(frozen=True)
class _Batch:
    updates: list[Integers]
    commitments: list[Commitment]
    openings: list[Opening]


def bench_exact(*, parameters: int, providers: int, progress: Progress | None = None) -> SettlementFigures:
    """Measure one epoch of a market of this size."""
    setup = timed(lambda: CommitmentKey.load(parameters=parameters, progress=progress))
    key, layout = setup.value, setup.value.layout
    details: Details = {"points": layout.points(parameters), "slots": layout.slots, "width": layout.width}
    batch = _openings(key, providers)
    commit_s, batch_s = _bench_openings(key, batch, details)
    details |= bench_sealed_exact(batch.updates[0], key)
    verify_s, step = _bench_model(key, batch, details)
    peak = peak_mb()  # before the peer, which needs more
    _bench_peer(key, batch, step, (commit_s, verify_s, batch_s), details)
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
        peak_mb=peak,
        details=details,
    )


def _bench_openings(key: CommitmentKey, batch: _Batch, details: Details) -> tuple[float, float]:
    """CPU seconds to commit to one update and to check all openings at once."""
    update, commitment, opening = batch.updates[0], batch.commitments[0], batch.openings[0]
    commit_s = _measure("commit", lambda n: commit(update, key, threads=n), details)
    details["opening_s"] = _measure(
        "opening", lambda n: _sure(verify_opening(update, commitment, opening, key, threads=n)), details
    )
    everything = (batch.updates, batch.commitments, batch.openings)
    return commit_s, _measure(
        "batch_verify", lambda n: _sure(batch_verify_openings(*everything, key, threads=n)), details
    )


def _bench_model(key: CommitmentKey, batch: _Batch, details: Details) -> tuple[float, npt.NDArray[np.int64]]:
    """CPU seconds to check the whole model against its commitment, and what the epoch added to the model."""
    start = FixedPoint(scale=2.0**-18).quantise_model(np.random.default_rng(2).normal(0, 0.05, key.parameters))
    weights = integer_weights([1.0 + i % 3 for i in range(len(batch.updates))])
    added = timed(lambda: aggregate(start, weights, batch.updates, layout=key.layout))
    details["aggregate_s"], model = added.cpu_s, added.value
    running = combine(commit_initial(start, key), weights, batch.commitments)
    blinding = combine_blindings(INITIAL_BLINDING, weights, batch.openings)
    step = (blinding - INITIAL_BLINDING) % ORDER
    verify_s = _measure("verify", lambda n: _sure(verify_model(model, blinding, running, key, threads=n)), details)
    details["step_s"] = _measure(
        "step",
        lambda n: _sure(verify_step(start, model, step, weights, batch.commitments, key, threads=n)),
        details,
    )
    return verify_s, model - start


def _bench_peer(
    key: CommitmentKey, batch: _Batch, step: npt.NDArray[np.int64], ours: tuple[float, float, float], details: Details
) -> None:
    peer = Peer.load(key.generators, parameters=key.parameters)
    works: dict[str, Callable[[], object]] = {
        "commit": lambda: peer.commit(batch.updates[0]),
        "verify": lambda: peer.commit_aggregate(step),
        "batch_verify": lambda: peer.fold(batch.updates),
    }
    for (name, work), own_s in zip(works.items(), ours, strict=True):
        details[f"peer_{name}_s"] = timed(work).cpu_s
        details[f"{name}_ratio"] = details[f"peer_{name}_s"] / own_s


def _measure(name: str, work: Callable[[int | None], T], details: Details) -> float:
    """CPU seconds on one thread; wall-clock of one and of all threads go to the details."""
    one, every = timed(lambda: work(1)), timed(lambda: work(None))
    details[f"{name}_wall_s"] = every.wall_s
    details[f"{name}_gain"] = one.wall_s / every.wall_s
    return one.cpu_s


def _openings(key: CommitmentKey, providers: int) -> _Batch:
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
    return _Batch(updates, commitments, openings)


def _sure(accepted: bool) -> None:
    if not accepted:
        raise AssertionError("an honest input was rejected: this run's figures mean nothing")
