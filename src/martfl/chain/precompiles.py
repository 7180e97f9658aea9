"""EIP-2537's G1MSM for py-evm, computed by arkworks instead of in Python: the same gas, the same answers, sooner.

Settlements and subgroup checks go through this precompile, so tests and the demo are much faster with it.
"""

from eth.abc import ComputationAPI
from eth.exceptions import VMError
from eth.precompiles.bls12_381.constants import BLS12_G1_MSM_GAS, G1_MSM_DISCOUNTS, G1_MSM_MAX_DISCOUNT, MSM_MULTIPLIER
from eth.vm.forks.prague import PragueVM
from eth.vm.forks.prague.computation import PRAGUE_PRECOMPILES, PragueComputation
from eth.vm.forks.prague.state import PragueState
from eth_typing import Address
from py_arkworks_bls12381 import G1Point, Scalar

G1MSM = Address(bytes(19) + b"\x0c")
PAIR = 160  # bytes: a point of two coordinates of 64 bytes, and a scalar of 32
PADDING = bytes(16)  # before each 48-byte coordinate


def g1_msm(computation: ComputationAPI) -> None:
    """Σ scalar_i · point_i; points off the curve or outside the subgroup fail the call."""
    data = bytes(computation.msg.data)
    count, rest = divmod(len(data), PAIR)
    if count == 0 or rest:
        raise VMError(f"G1MSM takes a positive multiple of {PAIR} bytes, got {len(data)}")
    discount = G1_MSM_DISCOUNTS[count - 1] if count <= len(G1_MSM_DISCOUNTS) else G1_MSM_MAX_DISCOUNT
    computation.consume_gas(count * BLS12_G1_MSM_GAS * discount // MSM_MULTIPLIER, reason="BLS12_G1MSM gas")
    pairs = [data[start : start + PAIR] for start in range(0, len(data), PAIR)]
    points = [_decode(pair[:128]) for pair in pairs]
    scalars = [Scalar.from_be_bytes_mod_order(pair[128:]) for pair in pairs]
    computation.output = _encode(G1Point.multiexp_unchecked(points, scalars))


def _decode(data: bytes) -> G1Point:
    if data[:16] != PADDING or data[64:80] != PADDING:
        raise VMError("a coordinate of G1 must be below the field's modulus")
    try:
        return G1Point.from_xy_bytes_be(data[16:64] + data[80:128])
    except ValueError as error:
        raise VMError(f"not a point of G1: {error}") from error


def _encode(point: G1Point) -> bytes:
    xy = bytes(point.to_xy_bytes_be())
    return PADDING + xy[:48] + PADDING + xy[48:]


PRECOMPILES = {**PRAGUE_PRECOMPILES, G1MSM: g1_msm}


class FastComputation(PragueComputation):
    """Prague with the faster precompile."""

    _precompiles = PRECOMPILES


class FastState(PragueState):
    computation_class = FastComputation


class FastPragueVM(PragueVM):
    _state_class = FastState
