"""Openings: honest ones verify alone and in a batch; any change is rejected; the slot trade is caught."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py_arkworks_bls12381 import G1Point, Scalar

from martfl.settlement import SettlementError
from martfl.settlement.errors import OpeningError, RangeError
from martfl.settlement.exact import (
    ORDER,
    Commitment,
    CommitmentKey,
    Opening,
    SlotLayout,
    batch_verify_openings,
    check_opening,
    commit,
    find_bad_openings,
    verify_opening,
)
from martfl.settlement.exact.generators import blinding_generator


@pytest.fixture(scope="module")
def batch(key, draw_update):
    """Six honest (updates, commitments, openings)."""
    updates = [draw_update(key, seed) for seed in range(6)]
    commitments, openings = zip(*(commit(u, key) for u in updates), strict=True)
    return updates, list(commitments), list(openings)


def by_definition(values, blinding, key):
    """Σ_j (Σ_l v·2^(wl))·G_j + ρ·H, one generator at a time."""
    point = blinding_generator() * Scalar(blinding)
    layout = key.layout
    for j, generator in enumerate(key.generators.points(layout.points(len(values)))):
        group = values[j * layout.slots : (j + 1) * layout.slots]
        packed = sum(int(v) << (layout.width * i) for i, v in enumerate(group)) % ORDER
        point = point + generator * Scalar(packed)
    return Commitment.from_point(point)


def test_the_committed_value_carries_no_offset(any_key, draw_update):
    update = draw_update(any_key, 1)
    assert commit(update, any_key, blinding=77)[0] == by_definition(update, 77, any_key)


def test_zero_with_blinding_one_is_just_h(key):
    zero = np.zeros(key.parameters, np.int16)
    assert commit(zero, key, blinding=1)[0].to_point() == blinding_generator()


@pytest.mark.parametrize("extreme", [-1, 1])
def test_the_extreme_values_open(any_key, extreme):
    update = np.full(any_key.parameters, extreme * any_key.layout.update_bound, np.int32)
    assert verify_opening(update, *commit(update, any_key), any_key)


def test_two_commitments_to_one_update_differ(key, draw_update):
    update = draw_update(key, 0)
    assert commit(update, key)[0] != commit(update, key)[0]


@settings(max_examples=30)
@given(position=st.integers(0, 99), change=st.integers(1, 1000), which=st.integers(0, 5))
def test_any_single_change_to_an_update_is_rejected(key, batch, position, change, which):
    updates, commitments, openings = batch
    changed = updates[which].copy()
    changed[position] += change if changed[position] < 0 else -change
    assert not verify_opening(changed, commitments[which], openings[which], key)
    forged = [*updates[:which], changed, *updates[which + 1 :]]
    assert not batch_verify_openings(forged, commitments, openings, key)
    assert find_bad_openings(forged, commitments, openings, key) == [which]


def test_honest_openings_verify_alone_and_together(key, batch):
    assert all(verify_opening(u, c, o, key) for u, c, o in zip(*batch, strict=True))
    assert batch_verify_openings(*batch, key)
    assert find_bad_openings(*batch, key) == []


def test_a_batch_of_one_and_a_batch_under_every_layout(any_key, draw_update):
    for providers in (1, 3):
        updates = [draw_update(any_key, seed) for seed in range(providers)]
        commitments, openings = zip(*(commit(u, any_key) for u in updates), strict=True)
        assert batch_verify_openings(updates, commitments, openings, any_key)
        assert not batch_verify_openings(updates, commitments, [Opening(3)] * providers, any_key)


def test_a_wrong_blinding_and_a_swap_are_rejected(key, batch):
    updates, commitments, openings = batch
    other = Opening((openings[0].blinding + 1) % ORDER)
    assert not verify_opening(updates[0], commitments[0], other, key)
    with pytest.raises(OpeningError, match="committed was"):
        check_opening(updates[0], commitments[0], other, key)
    assert not batch_verify_openings(updates, commitments[::-1], openings, key)


def test_errors_that_cancel_in_a_plain_sum_do_not_cancel_in_the_batch(key, batch):
    updates, commitments, openings = batch
    forged = [u.copy() for u in updates]
    forged[0][5], forged[1][5] = 3, -3
    forged[0][6], forged[1][6] = 0, 0
    base = [commit(u, key)[0].to_point() for u in forged]
    shifted = [Commitment.from_point(base[0] + G1Point()), Commitment.from_point(base[1] - G1Point())]
    assert not batch_verify_openings(forged, [*shifted, *commitments[2:]], openings, key)
    assert find_bad_openings(forged, [*shifted, *commitments[2:]], openings, key) == [0, 1]


def test_slots_that_trade_2_to_the_w_against_1_open_the_same_point_and_are_refused(key, draw_update):
    honest = draw_update(key, 3).astype(np.int64)
    traded = honest.copy()
    traded[0] += 1 << key.layout.width
    traded[1] -= 1
    commitment, opening = commit(honest, key)
    assert by_definition(traded, opening.blinding, key) == commitment  # the algebra alone cannot tell them apart
    assert not verify_opening(traded, commitment, opening, key)
    with pytest.raises(RangeError, match=f"value 0 is {traded[0]}"):
        check_opening(traded, commitment, opening, key)
    assert not batch_verify_openings([traded], [commitment], [opening], key)
    assert find_bad_openings([honest, traded], [commitment] * 2, [opening] * 2, key) == [1]


def test_a_different_number_of_anything_is_refused(key, batch):
    updates, commitments, openings = batch
    with pytest.raises(SettlementError, match="6 updates, 5 commitments, 6 openings"):
        batch_verify_openings(updates, commitments[:5], openings, key)
    with pytest.raises(SettlementError, match="at least one"):
        batch_verify_openings([], [], [], key)
    with pytest.raises(SettlementError, match="100 parameters expected, got 99"):
        commit(updates[0][:99], key)


@pytest.mark.parametrize("value", [-1, ORDER, ORDER + 5, 1.0, True, None])
def test_scalars_out_of_range_are_refused(value):
    with pytest.raises(RangeError, match="a scalar is an integer"):
        Opening(value)


def test_openings_as_bytes_and_never_in_logs():
    opening = Opening.random()
    assert Opening.from_bytes(opening.to_bytes()) == opening
    assert str(opening.blinding) not in repr(opening)
    with pytest.raises(SettlementError, match="32 bytes, got 31"):
        Opening.from_bytes(bytes(31))
    with pytest.raises(RangeError, match="a scalar is an integer with"):
        Opening.from_bytes(b"\xff" * 32)


def test_a_key_needs_enough_generators(generators):
    with pytest.raises(SettlementError, match="generators are needed"):
        CommitmentKey(layout=SlotLayout(), parameters=6 * 512 + 1, generators=generators)
