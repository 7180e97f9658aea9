"""One epoch of `evidence`: score, buy, judge what was delivered, weigh it, remember."""

from collections.abc import Mapping, Sequence

import numpy as np

from martfl.arrays import Floats
from martfl.selection.basket import ask, unpack_basket
from martfl.selection.e_values import posterior
from martfl.selection.memory import Memory
from martfl.selection.parameters import Parameters
from martfl.selection.reasons import Code, Reason, because
from martfl.selection.result import Selection
from martfl.selection.shopping import choose, is_out
from martfl.selection.strategy import Buyer, Vector
from martfl.selection.taught import hear
from martfl.selection.verdict import Seen, Verdict, judge


def decide(rule: Parameters, memory: Memory, buyer: Buyer, rng: np.random.Generator) -> tuple[Memory, Selection]:
    """The decision of one epoch, and what is known after it."""
    seed = int(rng.integers(2**31)) if memory.seed is None else memory.seed
    scores = ask(buyer, memory)
    wanted, looked = choose(rule, memory, buyer.providers, buyer.asks, scores.followers(rule.follower), rng)
    delivered = buyer.buy(wanted) if wanted else {}
    by_word = rule.uses("words") and buyer.held_words is not None
    basket = unpack_basket(delivered, buyer.own_update, seed=seed, size=rule.direction, numbers=not by_word)
    heard = hear(buyer, basket.units, basket.lengths, seed=seed + memory.epoch) if by_word else None
    case = Seen(rule, memory, buyer, buyer.strata, scores, basket, heard)
    verdict = judge(case)
    weights = weigh(case, verdict)
    reasons = explain_all(case, wanted, delivered, verdict, weights)
    after = Memory(
        epoch=memory.epoch + 1,
        seed=seed,
        looked=memory.epoch if looked else memory.looked,
        records={**memory.records, **verdict.records},
        model=buyer.model,
    )
    return after, Selection(scores.own, weights, reasons, tuple(sorted(delivered)))


def weigh(case: Seen, verdict: Verdict) -> Floats:
    """[n] equal shares, cut back for length, for the chance of being bad, and for what the model gains now."""
    rule, basket, names = case.rule, case.basket, case.names
    weights = np.zeros(len(case.buyer.providers))
    if not names:
        return weights
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
    case: Seen, wanted: Sequence[int], delivered: Mapping[int, Vector], verdict: Verdict, weights: Floats
) -> tuple[Reason, ...]:
    """A reason for everybody."""
    rule, memory, buyer, basket = case.rule, case.memory, case.buyer, case.basket
    followers = case.scores.followers(rule.follower)
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
            return because(Code.FOLLOWS, cosine=float(case.scores.last[i]))
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
