"""Encodings of commitments: round trips, and every kind of bad point refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from py_arkworks_bls12381 import G1Point, Scalar

from martfl.settlement.errors import PointError
from martfl.settlement.exact import ORDER, Commitment

P = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB


def times_base(k):
    return Commitment.from_point(G1Point() * Scalar(k))


def outside_subgroup():
    """A point on the curve y² = x³ + 4 whose order is not r: (0, 2) has order 3."""
    return bytes(48), (2).to_bytes(48, "big")


def eip(x, y):
    return bytes(16) + x + bytes(16) + y


@given(st.integers(1, ORDER - 1))
def test_both_encodings_come_back(k):
    commitment = times_base(k)
    assert len(commitment.to_compressed()) == 48
    assert len(commitment.to_eip2537()) == 128
    assert Commitment.from_compressed(commitment.to_compressed()) == commitment
    assert Commitment.from_eip2537(commitment.to_eip2537()) == commitment


def test_the_base_point_encodes_as_the_standard_says():
    base = times_base(1)
    assert base.to_compressed().hex().startswith("97f1d3a73197d7942695638c4fa9ac0f")
    assert base.to_eip2537()[16:32].hex() == "17f1d3a73197d7942695638c4fa9ac0f"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(bytes(128), id="infinity"),
        pytest.param(eip(*outside_subgroup()), id="outside the subgroup"),
        pytest.param(eip((5).to_bytes(48, "big"), (5).to_bytes(48, "big")), id="off the curve"),
        pytest.param(eip(b"\xff" * 48, b"\xff" * 48), id="coordinates beyond the field"),
        pytest.param(b"\1" + times_base(3).to_eip2537()[1:], id="padding not zero"),
        pytest.param(times_base(3).to_eip2537()[:-1], id="truncated"),
        pytest.param(times_base(3).xy[::-1].rjust(128, b"\0"), id="little-endian"),
    ],
)
def test_bad_eip2537_points_are_refused(data):
    with pytest.raises(PointError, match=r"at infinity|not a point of the subgroup|bytes expected|16 zero bytes"):
        Commitment.from_eip2537(data)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(bytes([0xC0]) + bytes(47), id="infinity"),
        pytest.param(b"\xff" * 48, id="infinity, not canonical"),
        pytest.param(bytes([0x80]) + bytes(47), id="outside the subgroup"),
        pytest.param(bytes(48), id="no flag"),
        pytest.param(times_base(3).to_compressed()[:-1], id="truncated"),
        pytest.param(times_base(3).to_compressed() + b"\0", id="longer"),
    ],
)
def test_bad_compressed_points_are_refused(data):
    with pytest.raises(PointError, match=r"at infinity|canonical encoding|of the subgroup|bytes expected"):
        Commitment.from_compressed(data)


def test_a_coordinate_not_reduced_mod_p_is_refused():
    xy = times_base(3).xy
    x = int.from_bytes(xy[:48], "big") + P
    if x < 1 << 384:
        with pytest.raises(PointError, match="not a point of the subgroup"):
            Commitment(x.to_bytes(48, "big") + xy[48:])
    with pytest.raises(PointError, match="96 bytes expected, got 9"):
        Commitment("not bytes")
