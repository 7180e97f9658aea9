"""What an epoch's deliveries show, together with what was known: records, charges, gains."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.selection.basket import Basket, Scores
from martfl.selection.charges import Charge, Known, find_charges
from martfl.selection.gains import Gains, gain_now, is_even, mean_and_error, measure, models_towards
from martfl.selection.memory import NOTHING, Memory, Record, blend
from martfl.selection.parameters import Parameters
from martfl.selection.reasons import Code
from martfl.selection.shopping import is_out
from martfl.selection.strategy import Buyer
from martfl.selection.taught import Heard, Taught, gather
from martfl.selection.vectors import weighted_sum

LASTING = 10.0  # no charge is kept stronger, so that who has changed comes back after a few looks
PASSES = 4  # who is found out must not be in the aggregate at which everybody is judged


@dataclass(frozen=True)
class Seen:
    """All that is seen in one epoch."""

    rule: Parameters
    memory: Memory
    buyer: Buyer
    strata: NDArray[np.int64] | None  # of the buyer's rows
    scores: Scores
    basket: Basket
    heard: Heard | None = None  # None where the task has no words

    @property
    def names(self) -> list[str]:
        """[k] who delivered."""
        return [self.buyer.providers[i] for i in self.basket.places]

    @cached_property
    def taught(self) -> tuple[Mapping[str, int], Taught] | None:
        """What everybody on record teaches of single words, copies left out, and where each stands in it."""
        if self.heard is None:
            return None
        found = {name: old.moved for name, old in self.memory.records.items() if old.code is not Code.COPY}
        found |= dict(zip(self.names, self.heard.moved, strict=True))
        for name, copy in zip(self.names, self.basket.copies, strict=True):
            if copy:
                del found[name]
        shape = self.heard.own.shape
        moved = [one if one.shape == shape else np.zeros(shape, dtype=np.float32) for one in found.values()]
        return {name: i for i, name in enumerate(found)}, gather(np.stack(moved), self.heard.own, self.heard.held)


@dataclass(frozen=True)
class Usual:
    """What an epoch's deliveries have in common; records are kept against it, so that epochs can be compared."""

    drift: Floats  # [d] of directions
    length: float
    gain: float  # on the root rows, of the kept ones


@dataclass(frozen=True)
class Verdict:
    """What the epoch's deliveries show, together with what was known."""

    records: Mapping[str, Record]  # of who is here, charges included
    charges: Mapping[str, Charge]
    gains: Mapping[str, float]  # of who delivered: what the model gains from it now, in deviations of honest ones
    bound: float  # the length that updates are cut back to


def judge(case: Seen) -> Verdict:
    """Charges from memory and deliveries; again without those found out, until nothing changes."""
    copies, limit, names = case.basket.copies, case.rule.limit, case.names
    keep = np.array([not is_out(case.rule, case.memory, name) for name in names], dtype=bool) & ~copies
    verdict, drift = Verdict({}, {}, {}, 1.0), _drift(case)
    seen: dict[bytes, Verdict] = {}
    for _ in range(PASSES if names else 0):
        keep = keep if keep.any() else ~copies
        if keep.tobytes() not in seen:
            seen[keep.tobytes()] = _judge_with(case, keep, drift)
        verdict = seen[keep.tobytes()]
        found = np.array([verdict.records[name].evidence < limit for name in names]) & ~copies
        if (found == keep).all():
            break
        keep = found
    return verdict


def _judge_with(case: Seen, keep: NDArray[np.bool_], drift: Floats) -> Verdict:
    """The verdict at the aggregate of those who are kept."""
    length = float(np.median(case.basket.lengths[keep]))
    gains = _gains(case, keep, length)
    usual = Usual(drift, length, float(np.median(mean_and_error(gains.rows[keep], gains.weights)[0])))
    return _verdict(case, _records(case, gains, usual), gains, usual)


def _gains(case: Seen, keep: NDArray[np.bool_], bound: float) -> Gains:
    """What each update gives at the kept ones' aggregate, on a step from there towards it."""
    rule, basket = case.rule, case.basket
    cut = np.minimum(basket.lengths, bound) if rule.uses("clip") else basket.lengths
    aggregate = weighted_sum(basket.units, keep * cut / keep.sum())
    models = models_towards(case.buyer.model + aggregate, basket.units, length=bound, less=aggregate)
    return measure(case.buyer, models, case.strata, centre=rule.uses("centre"))


def _records(case: Seen, gains: Gains, usual: Usual) -> dict[str, Record]:
    """Of everybody here who is known, averaged over epochs."""
    providers, known, kept = case.buyer.providers, case.memory.records, case.rule.memory
    found = {
        name: replace(
            known[name], own=kept * known[name].own + (1 - kept) * fresh if math.isfinite(fresh) else known[name].own
        )
        for name, fresh in zip(providers, case.scores.own, strict=True)
        if name in known
    }
    for j, name in enumerate(case.names):
        new = _record(case, j, gains, usual)
        found[name] = blend(known[name], new, kept) if name in known else new
    return found


def _record(case: Seen, j: int, gains: Gains, usual: Usual) -> Record:
    """What the j-th delivery shows by itself."""
    basket = case.basket
    return Record(
        bought=case.memory.epoch,
        evidence=0.0,
        code=Code.COPY if basket.copies[j] else Code.KEPT,
        length=math.log(basket.lengths[j] / usual.length),
        own=float(basket.own[j]),
        tie=math.log(max(basket.ties[j], 1e-3)),
        rows=gains.rows[j] - usual.gain,
        direction=basket.sketches[j] - usual.drift,
        hidden=basket.hidden[j],
        moved=NOTHING if case.heard is None else case.heard.moved[j].astype(np.float16),
    )


def _drift(case: Seen) -> Floats:
    """What all directions of this epoch have in common against those on record, so that epochs can be compared.

    In the first epoch, the mean: directions are kept against it from then on.
    """
    sketches = case.basket.sketches
    old = [case.memory.records.get(name) for name in case.names]
    apart = [
        sketch - record.direction
        for sketch, record in zip(sketches, old, strict=True)
        if record is not None and record.direction.size == sketch.size
    ]
    found = apart if len(apart) >= 2 else list(sketches)
    return np.asarray(np.mean(found, axis=0)) if found else np.zeros(sketches.shape[1])


def _verdict(case: Seen, records: dict[str, Record], gains: Gains, usual: Usual) -> Verdict:
    """The charges against who delivered, beside all on record; copies are charged with nothing else."""
    rows, delivered = gains.rows.shape[1], case.names
    names = [name for name, record in records.items() if record.code is not Code.COPY and record.rows.size == rows]
    if not names:
        return Verdict(records, {}, {}, usual.length)
    known = _known(case, {name: records[name] for name in names}, gains, usual)
    findings = find_charges(case.rule, known)
    charges = {name: charge for name, charge in zip(names, findings.charges, strict=True) if name in delivered}
    before = case.memory.records
    judged = {name: charged(case.rule, before.get(name), records[name], charges[name]) for name in charges}
    now = gain_now(gains, even=known.even).tolist()
    return Verdict({**records, **judged}, charges, dict(zip(delivered, now, strict=True)), usual.length)


def charged(rule: Parameters, old: Record | None, new: Record, charge: Charge) -> Record:
    """The record with its evidence: the mean over deliveries, since one epoch's finding is much like the next one's."""
    evidence = min(max(charge.evidence, -LASTING), LASTING)
    if old is not None and old.code is not Code.COPY:
        evidence = rule.memory * old.evidence + (1 - rule.memory) * evidence
    return replace(new, evidence=evidence, code=charge.code if evidence > 0 else Code.KEPT)


def _known(case: Seen, records: Mapping[str, Record], gains: Gains, usual: Usual) -> Known:
    """What is known of them in one table; gains and directions as they would be in this epoch."""
    fresh = dict(zip(case.buyer.providers, np.isfinite(case.scores.own), strict=True))
    listed = list(records.values())
    return Known(
        rows=np.stack([record.rows for record in listed]) + usual.gain,
        weights=gains.weights,
        cover=gains.cover,
        even=is_even(case.strata, gains.classes, case.rule.even),
        lengths=np.array([record.length for record in listed]),
        own=np.array([record.own if fresh[name] else np.nan for name, record in records.items()]),
        own_error=case.buyer.score_error,
        directions=_same_size([record.direction for record in listed], usual.drift.size) + usual.drift,
        ties=np.array([record.tie for record in listed]),
        hidden=_same_size([record.hidden for record in listed], usual.drift.size),
        taught=_taught(case, list(records)),
        strata=case.strata,
        classes=gains.classes,
    )


def _taught(case: Seen, names: Sequence[str]) -> Taught | None:
    if case.taught is None:
        return None
    places, taught = case.taught
    return taught.of([places[name] for name in names])


def _same_size(sketches: Sequence[Floats], size: int) -> Floats:
    return np.stack([sketch if sketch.size == size else np.zeros(size) for sketch in sketches])
