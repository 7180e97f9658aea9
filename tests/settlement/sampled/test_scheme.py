"""The scheme as the market uses it: an epoch from commitment to verification."""

from dataclasses import replace

import numpy as np
import pytest

from martfl.settlement import SettlementError, integer_weights, load_scheme
from martfl.settlement.errors import OpeningError, RangeError, WeightError
from martfl.settlement.sampled import groth16
from martfl.settlement.sampled.epoch import aggregate_model

SIZE = 50


@pytest.fixture(scope="module")
def scheme(small_key):
    return load_scheme(
        "sampled", parameters=SIZE, providers=3, samples=4, update_limit=0.5, model_limit=4.0, squarings=300
    )


@pytest.fixture(scope="module")
def round_(scheme):
    rng = np.random.default_rng(2)
    updates = [scheme.terms.update.quantise(rng.normal(0, 0.1, SIZE)).values for _ in range(2)]
    before = scheme.terms.model.quantise(rng.normal(0, 0.5, SIZE)).values
    commitments, openings = zip(*(scheme.commit(u) for u in updates), strict=True)
    weights = integer_weights([0.3, 0.6])
    settled = scheme.settle(before=before, weights=weights, updates=updates, openings=openings)
    return before, weights, updates, list(commitments), list(openings), settled


def test_an_epoch_with_an_unused_slot_verifies(scheme, round_):
    before, weights, updates, commitments, openings, settled = round_
    assert scheme.verify(before=before, settlement=settled, weights=weights, commitments=commitments)
    for i in range(2):
        assert scheme.own_commitment_matches(updates[i], openings[i], settled.evidence, provider=i)
    assert not scheme.own_commitment_matches(updates[0], openings[0], settled.evidence, provider=1)


def test_wrong_evidence_is_rejected(scheme, round_):
    before, weights, _, commitments, _, settled = round_
    e = settled.evidence
    cms = e.commitments
    for bad in (
        replace(e, delay=replace(e.delay, y=e.delay.y - 1)),
        replace(e, commitments=(cms[0] + 1, *cms[1:])),
        replace(e, commitments=(cms[1], cms[0], cms[2])),
        replace(e, commitments=(cms[0], cms[1], cms[2] + 1)),
        replace(e, commitments=cms[:2]),
        replace(e, proof=groth16.Proof(e.proof.c, e.proof.b, e.proof.a)),
    ):
        changed = replace(settled, evidence=bad)
        assert not scheme.verify(before=before, settlement=changed, weights=weights, commitments=commitments)


def test_another_chain_or_beacon_rejects(scheme, round_):
    before, weights, _, commitments, _, settled = round_
    for other in (replace(scheme, context=b"\1" * 32), replace(scheme, beacon=b"\1" * 32)):
        assert not other.verify(before=before, settlement=settled, weights=weights, commitments=commitments)
    other_seal = [replace(commitments[0], seal=bytes(32)), *commitments[1:]]
    assert not scheme.verify(before=before, settlement=settled, weights=weights, commitments=other_seal)
    slower = replace(scheme, squarings=301)
    assert not slower.verify(before=before, settlement=settled, weights=weights, commitments=commitments)


def test_a_provider_that_was_not_bought_need_not_deliver(scheme, round_):
    before, _, updates, commitments, openings, _ = round_
    weights = [0, 1 << 16]
    settled = scheme.settle(before=before, weights=weights, updates=[None, updates[1]], openings=openings)
    assert scheme.verify(before=before, settlement=settled, weights=weights, commitments=commitments)
    with pytest.raises(OpeningError, match="provider 1"):
        scheme.settle(before=before, weights=weights, updates=[updates[0], None], openings=openings)


def test_bad_input_gets_a_clear_error(scheme, round_):
    before, weights, updates, _, openings, _ = round_
    with pytest.raises(WeightError, match="one weight per provider"):
        scheme.settle(before=before, weights=weights, updates=updates[:1], openings=openings)
    with pytest.raises(SettlementError, match="one weight, update and opening"):
        scheme.settle(before=before, weights=weights, updates=updates, openings=openings[:1])
    with pytest.raises(SettlementError, match="same length"):
        scheme.settle(before=before[:-1], weights=weights, updates=updates, openings=openings)
    with pytest.raises(RangeError):
        scheme.settle(before=before - (1 << 24), weights=weights, updates=updates, openings=openings)
    with pytest.raises(SettlementError, match="update: 50 parameters"):
        scheme.commit(updates[0][:-1])
    with pytest.raises(SettlementError, match="samples"):
        load_scheme("sampled", parameters=3, providers=3, samples=4)
    assert not scheme.verify_opening(updates[0].astype(float), openings[0].commitment, openings[0])


def test_more_providers_than_slots_are_refused(scheme, round_):
    before, _, updates, _, openings, _ = round_
    weights = integer_weights([1, 1, 1, 1])
    with pytest.raises(SettlementError, match="3 provider slots"):
        scheme.settle(before=before, weights=weights, updates=updates * 2, openings=openings * 2)


def test_aggregation_needs_every_bought_update(scheme, round_):
    before, weights, updates, *_ = round_
    with pytest.raises(SettlementError, match="no update"):
        aggregate_model(before=before, weights=weights, updates=[updates[0], None], terms=scheme.terms)
