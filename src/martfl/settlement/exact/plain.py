"""Generators and sums through py_arkworks alone: the way without blst, and the reference that tests hold it against."""

from collections.abc import Sequence

from py_arkworks_bls12381 import G1Point, Scalar

from martfl.settlement.errors import SettlementError

MODULUS = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
ORDER = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
_MONTGOMERY = (1 << 384) % MODULUS
_BACK = pow(_MONTGOMERY, -1, MODULUS)


def scalar(value: int) -> Scalar:
    """value mod r as the library's scalar."""
    return Scalar.from_le_bytes((value % ORDER).to_bytes(32, "little"))


def multiexp(points: Sequence[G1Point], factors: Sequence[int]) -> G1Point:
    """Σ factor·point. Equal lengths are checked because the library cuts the longer list in silence."""
    if len(points) != len(factors):
        raise SettlementError(f"as many factors as points: {len(points)} points, {len(factors)} factors")
    return G1Point.multiexp_unchecked(list(points), list(map(scalar, factors))) if points else G1Point.identity()


def to_affine(point: G1Point) -> bytes:
    """x and y in Montgomery form, little-endian, as `blst.py` describes."""
    xy = point.to_xy_bytes_be()
    return b"".join(
        (int.from_bytes(xy[at : at + 48], "big") * _MONTGOMERY % MODULUS).to_bytes(48, "little") for at in (0, 48)
    )


def from_affine(data: bytes) -> G1Point:
    """The point behind `to_affine`; trusted, not checked."""
    return G1Point.from_xy_bytes_unchecked_be(coordinates(data))


def coordinates(data: bytes) -> bytes:
    """x and y of an affine point, big endian."""
    return b"".join(
        (int.from_bytes(data[at : at + 48], "little") * _BACK % MODULUS).to_bytes(48, "big") for at in (0, 48)
    )
