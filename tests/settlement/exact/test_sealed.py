"""Sealed updates: round trips, the specification to the byte, and what a buyer notices before it pays."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py_arkworks_bls12381 import G1Point, Scalar

sys.path.insert(0, str(Path(__file__).parent))  # `sealing`
from sealing import SECRET, Written, border_sizes, draw, key_of, part, root_of, with_byte, with_parts

from martfl.settlement import SettlementError
from martfl.settlement.errors import FileError, OpeningError, PointError, RangeError
from martfl.settlement.exact import (
    SlotLayout,
    blst,
    check_sealed,
    commit,
    find_false_leaf,
    open_sealed,
    opening_of,
    seal,
    verify_opening,
)
from martfl.settlement.exact.leaves import LeafShape, code_bytes, open_leaf
from martfl.settlement.exact.sealed import leaf_shape

secrets = st.binary(min_size=32, max_size=32)
all_bits = st.integers(2, 32)


@st.composite
def cases(draw_):
    """A key of any width, of a size near the end of a scalar or a leaf, with an update."""
    bits = draw_(all_bits)
    key = key_of(draw_(st.sampled_from(border_sizes(bits))), bits=bits)
    return key, draw(key, draw_(st.integers(0, 2**32)))


@pytest.fixture(scope="module")
def key():
    """Three leaves, the last of seven values."""
    return key_of(2 * 1536 + 7)


@pytest.fixture(scope="module")
def update(key):
    return draw(key, 1)


@pytest.fixture(scope="module")
def honest(key, update):
    return seal(update, key, SECRET)


@settings(max_examples=60, deadline=None)
@given(cases(), secrets)
def test_what_is_sealed_opens_again_and_opens_the_commitment(case, secret):
    key, update = case
    sealed = seal(update, key, secret)
    check_sealed(sealed.body, commitment=sealed.commitment, root=sealed.root, key=key)
    values, opening = open_sealed(sealed.body, secret, key)
    assert np.array_equal(values, update)
    assert opening == opening_of(secret, key)
    assert verify_opening(values, sealed.commitment, opening, key)
    assert find_false_leaf(sealed.body, secret, key) is None


@pytest.mark.parametrize("bits", [2, 7, 8, 9, 16, 17, 24, 32])
def test_it_is_the_specification_to_the_byte(bits):
    for parameters in border_sizes(bits)[:7]:
        key = key_of(parameters, bits=bits)
        update = draw(key, parameters)
        assert seal(update, key, SECRET) == Written(key, SECRET).sealed(update)


def test_it_is_the_same_where_blst_is_missing(key, update, honest, monkeypatch):
    monkeypatch.setattr(blst, "load", lambda: None)
    assert seal(update, key, SECRET) == honest
    check_sealed(honest.body, commitment=honest.commitment, root=honest.root, key=key)
    assert find_false_leaf(honest.body, SECRET, key) is None


def test_the_commitment_is_that_of_commit_and_threads_do_not_matter(key, update, honest):
    committed, _ = commit(update, key, blinding=opening_of(SECRET, key).blinding)
    assert committed == honest.commitment
    assert seal(update, key, SECRET, threads=1) == seal(update, key, SECRET, threads=3) == honest


@pytest.mark.parametrize("fill", [0, 1, -1, 32767, -32767])
def test_constant_updates_seal_too(fill):
    key = key_of(1537)
    update = np.full(1537, fill, np.int16)
    sealed = seal(update, key, SECRET)
    assert np.array_equal(open_sealed(sealed.body, SECRET, key)[0], update)
    assert find_false_leaf(sealed.body, SECRET, key) is None


def test_another_key_seals_to_other_bytes_and_opens_to_something_else_in_range(key, update, honest):
    other = seal(update, key, bytes(32))
    assert other.body != honest.body
    assert other.commitment != honest.commitment
    values, opening = open_sealed(honest.body, bytes(32), key)
    key.layout.check_update(values, parameters=key.parameters)
    assert not verify_opening(values, honest.commitment, opening, key)
    assert find_false_leaf(honest.body, bytes(32), key) == 0


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_flipped_bit_anywhere_is_noticed_before_the_purchase(key, honest, data):
    at = data.draw(
        st.one_of(st.integers(0, len(honest.body) - 1), st.integers(len(honest.body) - 144, len(honest.body) - 1))
    )
    changed = with_byte(honest.body, at, honest.body[at] ^ 1 << data.draw(st.integers(0, 7)))
    with pytest.raises((OpeningError, PointError), match=r"has the root|finite point of the subgroup|bytes|commitment"):
        check_sealed(changed, commitment=honest.commitment, root=honest.root, key=key)


@pytest.mark.parametrize(
    "change", [lambda b: b[:-1], lambda b: b + b"\0", lambda b: b"", lambda b: b[1:] + b[:1] + b"x"]
)
def test_other_sizes_are_refused_everywhere(key, honest, change):
    body = change(honest.body)
    for refuse in (
        lambda: check_sealed(body, commitment=honest.commitment, root=honest.root, key=key),
        lambda: open_sealed(body, SECRET, key),
        lambda: find_false_leaf(body, SECRET, key),
    ):
        with pytest.raises(FileError, match=f"has {len(honest.body)} bytes, got {len(body)}"):
            refuse()


BAD_POINTS = {
    "infinity": bytes([0xC0]) + bytes(47),
    "infinity with bits": bytes([0xE0]) + bytes(47),
    "not compressed": bytes([0x00]) + bytes(47),
    "coordinate beyond the field": bytes([0x9F]) + b"\xff" * 47,
    "off the curve": bytes([0x80]) + bytes(46) + b"\x01",
    "outside the subgroup": bytes([0x80]) + bytes(46) + b"\x04",
}


@pytest.mark.parametrize("with_blst", [True, False])
@pytest.mark.parametrize("kind", BAD_POINTS)
def test_parts_that_are_no_finite_points_of_the_subgroup_are_refused(key, honest, kind, with_blst, monkeypatch):
    if not with_blst:
        monkeypatch.setattr(blst, "load", lambda: None)
    at = leaf_shape(key).sealed_bytes + 48
    body = honest.body[:at] + BAD_POINTS[kind] + honest.body[at + 48 :]
    with pytest.raises(PointError, match="part 1 is not a finite point"):
        check_sealed(body, commitment=honest.commitment, root=honest.root, key=key)


def test_parts_that_do_not_add_up_are_refused_although_their_root_is_right(key, honest):
    body = with_parts(honest.body, key, {0: part(honest.body, key, 0) + G1Point()})
    with pytest.raises(OpeningError, match="do not add up to"):
        check_sealed(body, commitment=honest.commitment, root=root_of(body, key), key=key)


def test_parts_that_trade_add_up_and_are_found_under_the_key(key, honest):
    """Before the purchase nobody can tell; with the key everybody can."""
    step = G1Point() * Scalar(5)
    body = with_parts(honest.body, key, {1: part(honest.body, key, 1) + step, 2: part(honest.body, key, 2) - step})
    check_sealed(body, commitment=honest.commitment, root=root_of(body, key), key=key)
    assert find_false_leaf(body, SECRET, key) == 1


@settings(max_examples=60, deadline=None)
@given(bits=all_bits, data=st.data())
def test_whatever_is_sealed_decodes_in_range(bits, data):
    size = code_bytes(bits) * data.draw(st.integers(1, 80))
    values = open_leaf(data.draw(st.binary(min_size=size, max_size=size)), bits=bits, secret=SECRET, leaf=0)
    bound = 2 ** (bits - 1) - 1
    assert values.size * code_bytes(bits) == size
    assert values.min() >= -bound
    assert values.max() <= bound


@settings(max_examples=40, deadline=None)
@given(bits=all_bits, leaf=st.integers(0, 1), high=st.booleans(), extra=st.integers(0, 2**32 - 1))
def test_two_encodings_of_one_value_decode_alike_and_no_leaf_is_false(bits, leaf, high, extra):
    """Code 0 means what 1 means, and everything from 2^b on what 2^b − 1 means: harmless, so it refutes nobody."""
    layout_key = key_of(1, bits=bits)
    parameters = 256 * layout_key.layout.slots + 3
    key, size, bound = key_of(parameters, bits=bits), code_bytes(bits), 2 ** (bits - 1) - 1
    room = 256**size - 2**bits  # codes above the highest
    other = 2**bits + extra % room if high and room else 0
    value, code = (bound, 2**bits - 1) if other else (-bound, 1)
    update = draw(key, 3)
    place = leaf_shape(key).values(leaf).start
    update[place] = value
    sealed = seal(update, key, SECRET)
    at = place * size
    mask = (code ^ other).to_bytes(size, "big")
    body = bytearray(sealed.body)
    for i in range(size):
        body[at + i] ^= mask[i]
    values, opening = open_sealed(bytes(body), SECRET, key)
    assert np.array_equal(values, update)
    assert verify_opening(values, sealed.commitment, opening, key)
    assert find_false_leaf(bytes(body), SECRET, key) is None


def test_bad_updates_and_keys_are_refused(key, update):
    with pytest.raises(RangeError, match="every value must satisfy"):
        seal(np.full(key.parameters, 32768), key, SECRET)
    with pytest.raises(SettlementError, match=f"{key.parameters} parameters expected"):
        seal(update[:-1], key, SECRET)
    for bad in (b"", bytes(31), bytes(33)):
        with pytest.raises(SettlementError, match="secret key has 32 bytes"):
            seal(update, key, bad)
        with pytest.raises(SettlementError, match="secret key has 32 bytes"):
            opening_of(bad, key)


def test_it_costs_less_than_two_hundredths_more_than_the_values():
    """At three million parameters; the size follows from the shape alone."""
    shape = LeafShape(layout=SlotLayout(), parameters=3_000_000)
    assert (shape.sealed_bytes, shape.leaves) == (6_000_000, 1954)
    assert 48 * shape.leaves < 0.02 * shape.sealed_bytes


def test_neither_repr_shows_what_is_sealed(honest):
    assert honest.body.hex()[:40] not in repr(honest)
    assert repr(honest.body)[:40] not in repr(honest)
