"""The integer model and its running commitment, over epochs, and against the precompile of a real EVM."""

import numpy as np
import pytest
from eth_tester import EthereumTester, PyEVMBackend
from hypothesis import given, settings
from hypothesis import strategies as st
from web3 import EthereumTesterProvider, Web3

from martfl.settlement import WEIGHT_TOTAL, SettlementError, integer_weights
from martfl.settlement.errors import OpeningError, RangeError, WeightError
from martfl.settlement.exact import (
    INITIAL_BLINDING,
    ORDER,
    Commitment,
    SlotLayout,
    aggregate,
    check_model,
    combine,
    combine_blindings,
    commit,
    commit_initial,
    commit_model,
    verify_model,
    verify_step,
)
from martfl.settlement.exact.plain import multiexp

G1MSM = "0x000000000000000000000000000000000000000C"


@pytest.fixture(scope="module")
def epoch(key, draw_update):
    """A model, four updates with commitments and openings, weights (one of them zero)."""
    model = np.random.default_rng(9).integers(-(2**40), 2**40, key.parameters)
    updates = [draw_update(key, seed) for seed in range(4)]
    commitments, openings = zip(*(commit(u, key) for u in updates), strict=True)
    return model, updates, list(commitments), list(openings), integer_weights([0.9, 0.0, 0.2, 1.0])


def test_the_running_commitment_follows_the_model_over_epochs(any_key, draw_update):
    model = np.random.default_rng(1).integers(-900, 900, any_key.parameters)
    commitment, blinding = commit_initial(model, any_key), INITIAL_BLINDING
    for t in range(3):
        updates = [draw_update(any_key, 10 * t + i) for i in range(3)]
        commitments, openings = zip(*(commit(u, any_key) for u in updates), strict=True)
        weights = integer_weights([t + 1.0, 2.0, 0.1])
        model = aggregate(model, weights, updates, layout=any_key.layout)
        commitment = combine(commitment, weights, commitments)
        blinding = combine_blindings(blinding, weights, openings)
        assert verify_model(model, blinding, commitment, any_key)


def test_aggregate_is_the_exact_sum(key, epoch):
    model, updates, _, _, weights = epoch
    expected = [int(w) + sum(k * int(u[j]) for k, u in zip(weights, updates, strict=True)) for j, w in enumerate(model)]
    assert aggregate(model, weights, updates, layout=key.layout).tolist() == expected


@settings(max_examples=25)
@given(position=st.integers(0, 99), change=st.integers(-1000, 1000).filter(bool))
def test_any_single_change_to_the_model_is_rejected(key, epoch, position, change):
    model, updates, commitments, openings, weights = epoch
    after = aggregate(model, weights, updates, layout=key.layout)
    commitment = combine(commit_initial(model, key), weights, commitments)
    blinding = combine_blindings(INITIAL_BLINDING, weights, openings)
    assert verify_model(after, blinding, commitment, key)
    after[position] += change
    assert not verify_model(after, blinding, commitment, key)


@settings(max_examples=25)
@given(taken=st.integers(0, 3), given_=st.integers(0, 3), units=st.integers(1, 100))
def test_any_shift_of_weight_between_two_providers_is_rejected(key, epoch, taken, given_, units):
    model, updates, commitments, openings, weights = epoch
    shifted = list(weights)
    units = min(units, shifted[taken])
    shifted[taken] -= units
    shifted[given_] += units
    after = aggregate(model, shifted, updates, layout=key.layout)
    blinding = combine_blindings(INITIAL_BLINDING, weights, openings)
    commitment = combine(commit_initial(model, key), weights, commitments)
    assert verify_model(after, blinding, commitment, key) == (shifted == weights)


def test_a_model_whose_slots_trade_is_refused(key, epoch):
    model = epoch[0]
    commitment = commit_initial(model, key)
    traded = model.copy()
    traded[7] += 1 << key.layout.width
    traded[8] -= 1
    assert not verify_model(traded, INITIAL_BLINDING, commitment, key)
    with pytest.raises(RangeError, match="value 7"):
        check_model(traded, INITIAL_BLINDING, commitment, key)


def test_wrong_blinding_commitment_or_size_are_rejected(key, epoch):
    model, _, commitments, _, _ = epoch
    commitment = commit_initial(model, key)
    assert not verify_model(model, INITIAL_BLINDING + 1, commitment, key)
    assert not verify_model(model, ORDER + 1, commitment, key)
    assert not verify_model(model, INITIAL_BLINDING, commitments[0], key)
    assert not verify_model(model[:-1], INITIAL_BLINDING, commitment, key)
    assert not verify_model(model.astype(np.float64), INITIAL_BLINDING, commitment, key)
    with pytest.raises(OpeningError, match="the chain holds"):
        check_model(model, INITIAL_BLINDING, commitments[0], key)


def test_the_stated_epochs_at_full_swing_fit_and_one_more_is_refused():
    layout = SlotLayout(bits=4, epochs=3, initial_bound=10)
    model = np.array([10, -10])
    update = np.array([layout.update_bound, -layout.update_bound], np.int16)
    for _ in range(3):
        model = aggregate(model, [WEIGHT_TOTAL], [update], layout=layout)
    assert model.tolist() == [layout.model_bound, -layout.model_bound]
    with pytest.raises(RangeError, match="model: every value must satisfy"):
        aggregate(model, [WEIGHT_TOTAL], [update], layout=layout)


def test_an_initial_model_beyond_its_own_bound_is_refused(key):
    model = np.full(key.parameters, key.layout.initial_bound + 1)
    with pytest.raises(RangeError, match="initial model"):
        commit_initial(model, key)
    commit_model(model, INITIAL_BLINDING, key)  # later epochs may be there


def test_an_all_zero_first_model_has_a_commitment(key):
    zero = np.zeros(key.parameters, np.int64)
    assert verify_model(zero, INITIAL_BLINDING, commit_initial(zero, key), key)


def test_bad_weights_and_counts_are_refused(key, epoch):
    model, updates, commitments, openings, weights = epoch
    with pytest.raises(WeightError, match="4 providers, got 3"):
        aggregate(model, weights[:3], updates, layout=key.layout)
    with pytest.raises(WeightError, match="sum to 65536, got 65537"):
        combine(commitments[0], [1, 0, 0, WEIGHT_TOTAL], commitments)
    with pytest.raises(WeightError, match="sum to 65536, got 0"):
        aggregate(model, [0] * 4, updates, layout=key.layout)
    with pytest.raises(WeightError, match="3 providers, got 4"):
        combine_blindings(1, weights, openings[:3])
    with pytest.raises(SettlementError, match="100 parameters expected, got 99"):
        aggregate(model, weights, [u[:99] for u in updates], layout=key.layout)


def test_a_step_whose_weights_do_not_sum_to_the_whole_is_not_verified(key, epoch):
    """Nobody's weight is taken away once the model is published: less than the whole is no epoch of this market."""
    model, updates, commitments, openings, weights = epoch
    less = [*weights[:3], 0]
    after = model + sum(k * u.astype(np.int64) for k, u in zip(less, updates, strict=True))
    blinding = sum(k * o.blinding for k, o in zip(less, openings, strict=True)) % ORDER
    assert commit_model(after - model, blinding, key).to_point() == multiexp([c.to_point() for c in commitments], less)
    assert not verify_step(model, after, blinding, less, commitments, key)
    for refuse in (
        lambda: aggregate(model, less, updates, layout=key.layout),
        lambda: combine(commitments[0], less, commitments),
        lambda: combine_blindings(1, less, openings),
    ):
        with pytest.raises(WeightError, match="must sum to 65536"):
            refuse()


def test_a_step_is_verified_from_the_two_models(key, epoch):
    model, updates, commitments, openings, weights = epoch
    after = aggregate(model, weights, updates, layout=key.layout)
    blinding = combine_blindings(0, weights, openings)
    assert verify_step(model, after, blinding, weights, commitments, key)
    assert not verify_step(model, after, (blinding + 1) % ORDER, weights, commitments, key)
    assert not verify_step(after, model, blinding, weights, commitments, key)
    far = np.full(key.parameters, key.layout.model_bound)
    assert not verify_step(-far, far, blinding, weights, commitments, key)


def test_the_precompile_computes_the_same_running_commitment(key, epoch):
    model, _, commitments, _, weights = epoch
    previous = commit_initial(model, key)
    pairs = [(previous, 1), *zip(commitments, weights, strict=True)]
    data = b"".join(c.to_eip2537() + k.to_bytes(32, "big") for c, k in pairs)
    chain = Web3(EthereumTesterProvider(EthereumTester(PyEVMBackend())))
    out = chain.eth.call({"to": G1MSM, "data": data, "gas": 1_000_000})
    assert Commitment.from_eip2537(bytes(out)) == combine(previous, weights, commitments)
