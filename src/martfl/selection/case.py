"""One epoch of `evidence`: score, buy, judge what was delivered, weigh it, remember."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.selection.basket import Basket, Scores, ask, unpack_basket
from martfl.selection.charges import Charge, Known, find_charges
from martfl.selection.e_values import posterior
from martfl.selection.gains import Gains, gain_now, is_even, mean_and_error, measure
from martfl.selection.memory import Memory, Record, blend
from martfl.selection.parameters import Parameters
from martfl.selection.reasons import Code, Reason, because
from martfl.selection.result import Selection
from martfl.selection.shopping import choose, is_out
from martfl.selection.strategy import Buyer, Vector
from martfl.selection.vectors import cosine

LASTING = 10.0  # no charge is kept stronger, so that who has changed comes back after a few looks
PASSES = 4  # who is found out must not be in the aggregate at which everybody is judged


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


def decide(rule: Parameters, memory: Memory, buyer: Buyer, rng: np.random.Generator) -> tuple[Memory, Selection]:
    """The decision of one epoch, and what is known after it."""
    seed = int(rng.integers(2**31)) if memory.seed is None else memory.seed
    scores = ask(buyer, memory)
    wanted, looked = choose(rule, memory, buyer.providers, buyer.asks, scores.followers(rule.follower), rng)
    delivered = buyer.buy(wanted) if wanted else {}
    basket = unpack_basket(delivered, seed=seed, size=rule.direction)
    verdict = judge(rule, memory, buyer, basket, scores)
    weights = weigh(rule, buyer, basket, verdict)
    reasons = explain_all(rule, memory, buyer, scores, wanted, delivered, basket, verdict, weights)
    after = Memory(
        epoch=memory.epoch + 1,
        seed=seed,
        looked=memory.epoch if looked else memory.looked,
        records={**memory.records, **verdict.records},
        model=buyer.model,
    )
    return after, Selection(scores.own, weights, reasons, tuple(sorted(delivered)))


def judge(rule: Parameters, memory: Memory, buyer: Buyer, basket: Basket, scores: Scores) -> Verdict:
    """Charges from memory and deliveries; again without those found out, until nothing changes."""
    names = [buyer.providers[i] for i in basket.places]
    keep = np.array([not is_out(rule, memory, name) for name in names], dtype=bool) & ~basket.copies
    verdict, drift = Verdict({}, {}, {}, 1.0), _drift(memory, buyer, basket)
    for _ in range(PASSES if names else 0):
        keep = keep if keep.any() else ~basket.copies
        length = float(np.median(basket.lengths[keep]))
        gains = _gains(rule, buyer, basket, keep, length)
        gain = float(np.median(mean_and_error(gains.rows[keep], gains.weights)[0]))
        usual = Usual(drift, length, gain)
        records = _records(rule, memory, buyer, basket, gains, usual, scores)
        verdict = _verdict(rule, memory, buyer, names, records, gains, usual, scores)
        found = np.array([verdict.records[name].evidence < rule.limit for name in names]) & ~basket.copies
        if (found == keep).all():
            break
        keep = found
    return verdict


def _gains(rule: Parameters, buyer: Buyer, basket: Basket, keep: NDArray[np.bool_], bound: float) -> Gains:
    """What each update gives at the kept ones' aggregate, on a step from there towards it."""
    cut = np.minimum(basket.lengths, bound) if rule.uses("clip") else basket.lengths
    aggregate = sum(basket.units[j] * float(cut[j]) for j in np.flatnonzero(keep)) / int(keep.sum())
    steps = [unit * bound - aggregate for unit in basket.units]
    return measure(buyer, buyer.model + aggregate, steps, centre=rule.uses("centre"))


def _records(
    rule: Parameters,
    memory: Memory,
    buyer: Buyer,
    basket: Basket,
    gains: Gains,
    usual: Usual,
    scores: Scores,
) -> dict[str, Record]:
    """Of everybody here who is known, averaged over epochs."""
    old = {name: memory.records[name] for name in buyer.providers if name in memory.records}
    found = {}
    for place, name in enumerate(buyer.providers):
        if name in old:
            fresh = scores.own[place]
            own = rule.memory * old[name].own + (1 - rule.memory) * fresh if math.isfinite(fresh) else old[name].own
            found[name] = replace(old[name], own=own)
    for j, place in enumerate(basket.places):
        name = buyer.providers[place]
        new = Record(
            bought=memory.epoch,
            evidence=0.0,
            code=Code.COPY if basket.copies[j] else Code.KEPT,
            length=math.log(basket.lengths[j] / usual.length),
            own=cosine(basket.units[j], buyer.own_update),
            tie=math.log(max(basket.ties[j], 1e-3)),
            rows=gains.rows[j] - usual.gain,
            direction=basket.sketches[j] - usual.drift,
        )
        found[name] = blend(old[name], new, rule.memory) if name in old else new
    return found


def _drift(memory: Memory, buyer: Buyer, basket: Basket) -> Floats:
    """What all directions of this epoch have in common against those on record, so that epochs can be compared.

    In the first epoch, the mean: directions are kept against it from then on.
    """
    old = [memory.records.get(buyer.providers[place]) for place in basket.places]
    size = basket.sketches.shape[1]
    apart = [
        sketch - record.direction
        for sketch, record in zip(basket.sketches, old, strict=True)
        if record is not None and record.direction.size == size
    ]
    found = apart if len(apart) >= 2 else list(basket.sketches)
    return np.asarray(np.mean(found, axis=0)) if found else np.zeros(size)


def _verdict(
    rule: Parameters,
    memory: Memory,
    buyer: Buyer,
    delivered: Sequence[str],
    records: dict[str, Record],
    gains: Gains,
    usual: Usual,
    scores: Scores,
) -> Verdict:
    """The charges against who delivered, beside all on record; copies are charged with nothing else."""
    rows = gains.rows.shape[1]
    names = [name for name, record in records.items() if record.code is not Code.COPY and record.rows.size == rows]
    if not names:
        return Verdict(records, {}, {}, usual.length)
    known = _known(rule, buyer, {name: records[name] for name in names}, gains, usual, scores)
    findings = find_charges(rule, known)
    charges = {name: charge for name, charge in zip(names, findings.charges, strict=True) if name in delivered}
    judged = {name: charged(rule, memory.records.get(name), records[name], charges[name]) for name in charges}
    now = gain_now(gains, even=known.even).tolist()
    return Verdict({**records, **judged}, charges, dict(zip(delivered, now, strict=True)), usual.length)


def charged(rule: Parameters, old: Record | None, new: Record, charge: Charge) -> Record:
    """The record with its evidence: the mean over deliveries, since one epoch's finding is much like the next one's."""
    evidence = min(max(charge.evidence, -LASTING), LASTING)
    if old is not None and old.code is not Code.COPY:
        evidence = rule.memory * old.evidence + (1 - rule.memory) * evidence
    return replace(new, evidence=evidence, code=charge.code if evidence > 0 else Code.KEPT)


def _known(
    rule: Parameters, buyer: Buyer, records: Mapping[str, Record], gains: Gains, usual: Usual, scores: Scores
) -> Known:
    """What is known of them in one table; gains and directions as they would be in this epoch."""
    fresh = dict(zip(buyer.providers, np.isfinite(scores.own), strict=True))
    listed = list(records.values())
    return Known(
        rows=np.stack([record.rows for record in listed]) + usual.gain,
        weights=gains.weights,
        cover=gains.cover,
        even=is_even(buyer.strata, gains.classes, rule.even),
        lengths=np.array([record.length for record in listed]),
        own=np.array([record.own if fresh[name] else np.nan for name, record in records.items()]),
        own_error=buyer.score_error,
        directions=_same_size(listed, usual.drift.size) + usual.drift,
        ties=np.array([record.tie for record in listed]),
    )


def _same_size(records: Sequence[Record], size: int) -> Floats:
    return np.stack([record.direction if record.direction.size == size else np.zeros(size) for record in records])


def weigh(rule: Parameters, buyer: Buyer, basket: Basket, verdict: Verdict) -> Floats:
    """[n] equal shares, cut back for length, for the chance of being bad, and for what the model gains now."""
    weights = np.zeros(len(buyer.providers))
    if not basket.places:
        return weights
    names = [buyer.providers[i] for i in basket.places]
    evidence = np.array([verdict.records[name].evidence for name in names])
    shares = ((evidence < rule.limit) & ~basket.copies).astype(np.float64)
    if rule.uses("clip"):
        shares = shares * np.minimum(1.0, verdict.bound / basket.lengths)
    if rule.uses("trust"):
        shares = shares * posterior(evidence, rule.odds) ** rule.caution
    if rule.uses("worth"):
        gain = np.array([verdict.gains.get(name, 0.0) for name in names])
        worth = shares * np.clip(1.0 + gain / rule.worth, 0.0, 1.0)
        shares = worth if worth.any() else shares
    if shares.any():
        weights[list(basket.places)] = shares / shares.sum()
    return weights


def explain_all(
    rule: Parameters,
    memory: Memory,
    buyer: Buyer,
    scores: Scores,
    wanted: Sequence[int],
    delivered: Mapping[int, Vector],
    basket: Basket,
    verdict: Verdict,
    weights: Floats,
) -> tuple[Reason, ...]:
    """A reason for everybody."""
    followers = scores.followers(rule.follower)
    copies = {place for place, copy in zip(basket.places, basket.copies, strict=True) if copy}

    def reason(i: int) -> Reason:
        name = buyer.providers[i]
        if i in copies:
            return because(Code.COPY)
        if i in basket.places:
            return _judged(rule, verdict, name, float(weights[i]))
        if i in wanted:
            return because(Code.EMPTY if i in delivered else Code.MISSING)
        if followers[i]:
            return because(Code.FOLLOWS, cosine=float(scores.last[i]))
        if is_out(rule, memory, name):
            record = memory.records[name]
            return because(Code.ON_RECORD, epoch=record.bought + 1, evidence=record.evidence)
        return because(Code.BUDGET, ask=float(buyer.asks[i]))

    return tuple(reason(i) for i in range(len(buyer.providers)))


def _judged(rule: Parameters, verdict: Verdict, name: str, weight: float) -> Reason:
    charge, evidence = verdict.charges[name], verdict.records[name].evidence
    if evidence >= rule.limit:
        return because(charge.code, **{**charge.numbers, "evidence": evidence})
    if not weight:
        return because(Code.NO_GAIN, deviation=verdict.gains[name])
    return because(Code.KEPT, evidence=evidence)
