"""The fast G1MSM against py-evm's own."""

from types import SimpleNamespace

import pytest
from eth.exceptions import VMError
from eth.precompiles import bls12_g1_msm
from hypothesis import given, settings
from hypothesis import strategies as st
from py_arkworks_bls12381 import G1Point, Scalar

from martfl.chain.precompiles import g1_msm

ORDER = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
FIELD = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB


class Computation:
    def __init__(self, data: bytes) -> None:
        self.msg = SimpleNamespace(data=data)
        self.gas, self.output = 0, None

    def consume_gas(self, amount: int, reason: str) -> None:
        self.gas += amount


def outcome(precompile, data: bytes):
    computation = Computation(data)
    try:
        precompile(computation)
    except VMError:
        return "failed", computation.gas
    return computation.output, computation.gas


def encode(x: int, y: int) -> bytes:
    return x.to_bytes(64, "big") + y.to_bytes(64, "big")


def point(seed: int) -> bytes:
    """The seed's multiple of a point; 0 is infinity, which is all zeros."""
    xy = bytes((G1Point.hash_to_curve(b"p", b"test") * Scalar(seed)).to_xy_bytes_be())
    return encode(int.from_bytes(xy[:48], "big"), int.from_bytes(xy[48:], "big"))


def outside_the_subgroup() -> bytes:
    x = 4
    while True:
        y = pow(x**3 + 4, (FIELD + 1) // 4, FIELD)
        if (y * y - x**3 - 4) % FIELD == 0:
            return encode(x, y)
        x += 1


scalars = st.one_of(st.sampled_from([0, 1, ORDER - 1, ORDER, ORDER + 1, 2**256 - 1]), st.integers(0, 2**256 - 1))


@settings(max_examples=20)
@given(pairs=st.lists(st.tuples(st.integers(0, 50), scalars), min_size=1, max_size=3))
def test_both_compute_the_same_sum_for_the_same_gas(pairs):
    data = b"".join(point(seed) + scalar.to_bytes(32, "big") for seed, scalar in pairs)
    assert outcome(g1_msm, data) == outcome(bls12_g1_msm, data)
    assert outcome(g1_msm, data)[0] != "failed"


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        bytes(159),
        encode(1, 1) + bytes(32),
        encode(FIELD, 0) + bytes(32),
        encode(1 << 500, 0) + bytes(32),
        (1 << 383).to_bytes(64, "big") + bytes(96),
        outside_the_subgroup() + bytes(32),
        point(3) + bytes(32) + outside_the_subgroup() + bytes(32),
    ],
)
def test_both_refuse_the_same_inputs(bad):
    assert outcome(g1_msm, bad) == outcome(bls12_g1_msm, bad)
    assert outcome(g1_msm, bad)[0] == "failed"
