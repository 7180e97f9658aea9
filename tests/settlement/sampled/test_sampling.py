"""Seeds bind everything that precedes them; indices are uniform, sorted and different."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.settlement import SettlementError
from martfl.settlement.keccak import keccak
from martfl.settlement.sampled import sampling

WORD = bytes(range(32))


@given(randomness=st.binary(min_size=32, max_size=32), samples=st.integers(1, 64), extra=st.integers(0, 500))
def test_indices_are_sorted_different_and_in_their_strata(randomness, samples, extra):
    parameters = samples + extra
    drawn = sampling.indices(randomness, parameters=parameters, samples=samples)
    assert drawn == sorted(set(drawn))
    for index, (start, size) in zip(drawn, sampling.strata(parameters=parameters, samples=samples), strict=True):
        assert start <= index < start + size
    assert sampling.indices(randomness, parameters=parameters, samples=samples) == drawn


@given(samples=st.integers(1, 50), extra=st.integers(0, 1000))
def test_strata_cover_every_parameter_once(samples, extra):
    parts = sampling.strata(parameters=samples + extra, samples=samples)
    covered = [i for start, size in parts for i in range(start, start + size)]
    assert covered == list(range(samples + extra))


def test_draws_beyond_the_last_whole_multiple_are_rejected():
    """3 bits, 5 outcomes: 5, 6 and 7 would favour 0, 1 and 2."""
    counts = Counter(sampling.uniform([d, 4], size=5, bits=3) for d in range(5))
    assert counts == dict.fromkeys(range(5), 1)
    assert all(sampling.uniform([d, 4], size=5, bits=3) == 4 for d in (5, 6, 7))
    with pytest.raises(SettlementError, match="not random"):
        sampling.uniform([7, 7], size=5, bits=3)


def test_all_parameters_are_drawn_about_equally_often():
    counts = Counter()
    for i in range(2000):
        counts.update(sampling.indices(i.to_bytes(32, "big"), parameters=12, samples=3))
    assert set(counts) == set(range(12))
    assert all(400 <= c <= 600 for c in counts.values())  # 500 expected, deviation 19


PARTS = ("context", "rolled", "old_root", "new_root", "beacon")


@pytest.mark.parametrize("name", PARTS)
def test_the_seed_depends_on_every_part(name):
    parts = dict.fromkeys(PARTS, WORD)
    assert sampling.seed(**parts) != sampling.seed(**parts | {name: bytes(32)})
    with pytest.raises(SettlementError, match=f"{name} has 32 bytes"):
        sampling.seed(**parts | {name: b"short"})


def test_the_rolling_hash_depends_on_order_and_content():
    a, b = WORD, WORD[::-1]
    assert len({sampling.roll([]), sampling.roll([a]), sampling.roll([a, b]), sampling.roll([b, a])}) == 4
    assert sampling.roll([a, b]) == keccak(keccak(bytes(32) + a) + b)
    with pytest.raises(SettlementError, match="seal 1 has 32 bytes"):
        sampling.roll([a, b[:31]])


def test_context_names_chain_contract_and_epoch():
    base = {"chain_id": 1, "contract": bytes(20), "epoch": 1}
    others = [base, base | {"chain_id": 2}, base | {"contract": bytes(19) + b"\1"}, base | {"epoch": 2}]
    assert len({sampling.context(**o) for o in others}) == 4


@pytest.mark.parametrize(("parameters", "samples"), [(10, 11), (10, 0), (0, 1)])
def test_impossible_numbers_of_samples_are_refused(parameters, samples):
    with pytest.raises(SettlementError, match="samples"):
        sampling.indices(WORD, parameters=parameters, samples=samples)


@settings(max_examples=20)
@given(share=st.floats(0, 1), seed=st.randoms(use_true_random=False))
def test_a_cheat_spread_over_strata_survives_at_most_with_the_stated_probability(share, seed):
    """Π(1 − f_j) ≤ (1 − f)^c for any way to put a share f of 640 parameters into 64 strata of 10."""
    cheated = round(share * 640)
    chosen = set(seed.sample(range(640), cheated))
    survives = 1.0
    for start, size in sampling.strata(parameters=640, samples=64):
        survives *= 1 - len(chosen & set(range(start, start + size))) / size
    assert survives <= (1 - cheated / 640) ** 64 + 1e-12
