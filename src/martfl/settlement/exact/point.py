"""Commitments as bytes.

Encodings: 48 bytes compressed (off chain), 128 bytes EIP-2537 (16 zero bytes before each 48-byte coordinate).
Both decoders accept exactly one encoding per point, and refuse infinity and points outside the prime-order subgroup:
one such point among the providers' would block the whole round on chain.
"""

from dataclasses import dataclass

from py_arkworks_bls12381 import G1Point

from martfl.settlement.errors import PointError

COMPRESSED_BYTES = 48
EIP2537_BYTES = 128
XY_BYTES = 96
_PAD = bytes(16)


@dataclass(frozen=True)
class Commitment:
    """A point of the prime-order subgroup of BLS12-381 G1, never infinity; checked when made.

    Examples:
        >>> commitment = Commitment.from_point(G1Point())
        >>> len(commitment.to_compressed()), len(commitment.to_eip2537())
        (48, 128)
        >>> Commitment.from_eip2537(commitment.to_eip2537()) == commitment
        True
    """

    xy: bytes  # 48-byte big-endian x, then y

    def __post_init__(self) -> None:
        _decode(self.xy)

    @classmethod
    def from_point(cls, point: G1Point) -> "Commitment":
        """The commitment at `point`."""
        return cls(bytes(point.to_xy_bytes_be()))

    @classmethod
    def from_compressed(cls, data: bytes) -> "Commitment":
        """Read 48 compressed bytes."""
        _check_size(data, COMPRESSED_BYTES, "compressed")
        try:
            point = G1Point.from_compressed_bytes(bytes(data))
        except ValueError as error:
            raise PointError(f"not a compressed point of the subgroup: {bytes(data).hex()} ({error})") from error
        if bytes(point.to_compressed_bytes()) != bytes(data):  # the library reads several byte strings as infinity
            raise PointError(f"not the canonical encoding of a point: {bytes(data).hex()}")
        return cls.from_point(point)

    @classmethod
    def from_eip2537(cls, data: bytes) -> "Commitment":
        """Read 128 bytes as the precompiles write them."""
        _check_size(data, EIP2537_BYTES, "EIP-2537")
        if data[:16] != _PAD or data[64:80] != _PAD:
            raise PointError(f"EIP-2537 wants 16 zero bytes before each coordinate, got {bytes(data).hex()}")
        return cls(bytes(data[16:64]) + bytes(data[80:128]))

    def to_compressed(self) -> bytes:
        """48 bytes."""
        return bytes(self.to_point().to_compressed_bytes())

    def to_eip2537(self) -> bytes:
        """128 bytes for calldata."""
        return eip2537(self.xy)

    def to_point(self) -> G1Point:
        """The library's point."""
        return G1Point.from_xy_bytes_unchecked_be(self.xy)

    def __repr__(self) -> str:
        return f"Commitment({self.to_compressed().hex()})"


def eip2537(xy: bytes) -> bytes:
    """x and y, 48 bytes each, as the precompiles write them."""
    return _PAD + xy[:48] + _PAD + xy[48:]


def _decode(xy: bytes) -> G1Point:
    _check_size(xy, XY_BYTES, "affine")
    if xy == bytes(XY_BYTES):
        raise PointError("a commitment must not be the point at infinity")
    try:
        point = G1Point.from_xy_bytes_be(xy)
    except ValueError as error:
        raise PointError(f"not a point of the subgroup: {bytes(xy).hex()} ({error})") from error
    if point == G1Point.identity() or bytes(point.to_xy_bytes_be()) != xy:
        raise PointError(f"not the canonical encoding of a finite point: {bytes(xy).hex()}")
    return point


def _check_size(data: bytes, size: int, what: str) -> None:
    if not isinstance(data, (bytes, bytearray, memoryview)) or len(data) != size:
        got = f"{len(data)} bytes" if hasattr(data, "__len__") else type(data).__name__
        raise PointError(f"{what} encoding: {size} bytes expected, got {got}")
