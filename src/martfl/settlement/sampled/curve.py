"""BN254 points through zksnake's arkworks binding: tables of them, sums, and plain coordinates.

The binding checks the subgroup of every point that it reads (about 0.13 ms in G1, 0.33 ms in G2), which is most of the
time that a large key takes to load. So a table keeps the bytes and makes a point when a proof first needs it: about
half of a circuit's wires are zero bits and need none.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from zksnake._algebra import ec_bn254, polynomial_bn254

from martfl import waiting
from martfl.settlement.errors import FileError, PointError

Point = Any  # zksnake's PointG1 or PointG2: opaque classes without stubs
Group = Literal[1, 2]
polynomials: Any = polynomial_bn254  # over the scalar field; zksnake is imported here and nowhere else

_SCALAR_BITS = 254
_BATCH = 2048  # points between two words on how far it is
G1_BYTES, G2_BYTES = 64, 128  # uncompressed, big-endian coordinates


def generator(group: Group) -> Point:
    """The group's standard generator."""
    return ec_bn254.g1() if group == 1 else ec_bn254.g2()


def zero(group: Group) -> Point:
    """The point at infinity."""
    return generator(group) * 0


def multiples(base: Point, scalars: Sequence[int], *, group: Group) -> list[Point]:
    """scalar · base for every scalar: one addition a window, from a table of all windows' multiples.

    An addition takes 0.7 µs here and the library's own product 180 µs, so this is several times faster on one core
    than the library's batch on two.
    """
    window = min(12, max(2, len(scalars).bit_length() - 3))
    windows = -(-_SCALAR_BITS // window)
    table = _window_table(base, window=window, windows=windows, group=group)
    mask, start = (1 << window) - 1, zero(group)
    products: list[Point] = []
    for scalar in scalars:
        if len(products) % _BATCH == 0:
            waiting.tell("making points of a key", len(products), len(scalars))
        total = start
        for row in table:
            digit = scalar & mask
            if digit:
                total = total + row[digit]
            scalar >>= window
        products.append(total)
    waiting.tell("making points of a key", len(scalars), len(scalars))
    return products


def _window_table(base: Point, *, window: int, windows: int, group: Group) -> list[list[Point]]:
    """Row j holds d · 2^(window·j) · base for every digit d."""
    table = []
    for _ in range(windows):
        row = [zero(group)]
        for _ in range(1 << window):
            row.append(row[-1] + base)
        base = row.pop()
        table.append(row)
    return table


def multiexp(points: Sequence[Point], scalars: Sequence[int], *, group: Group) -> Point:
    """Σ scalar · point."""
    many = ec_bn254.multiscalar_mul_g1 if group == 1 else ec_bn254.multiscalar_mul_g2
    return many(list(points), list(scalars)) if points else zero(group)


def products(points: Sequence[Point], scalars: Sequence[int], *, group: Group) -> list[Point]:
    """scalar · point for every pair, on every core."""
    many = ec_bn254.batch_multi_scalar_g1 if group == 1 else ec_bn254.batch_multi_scalar_g2
    made: list[Point] = []
    for start in range(0, len(points), _BATCH):
        batch = slice(start, start + _BATCH)
        made += many(list(points[batch]), list(scalars[batch]))
        waiting.tell("multiplying points of a ceremony", len(made), len(points))
    return made


def pairings_cancel(left: Sequence[Point], right: Sequence[Point]) -> bool:
    """Whether Π e(left, right) = 1."""
    one = ec_bn254.pairing(zero(1), generator(2))
    return bool(ec_bn254.multi_pairing(list(left), list(right)) == one)


def coordinates(point: Point, *, group: Group) -> tuple[int, ...]:
    """(x, y), or (x_0, x_1, y_0, y_1) with x = x_0 + x_1 u; infinity has none."""
    if point == zero(group):
        raise PointError("the point at infinity has no coordinates")
    return (point.x, point.y) if group == 1 else (*point.x, *point.y)


def from_coordinates(values: Sequence[int], *, group: Group) -> Point:
    """A trusted point; foreign ones come compressed through `decompress`, which refuses politely."""
    return ec_bn254.PointG1(*values) if group == 1 else ec_bn254.PointG2(*values)


def compress(point: Point) -> bytes:
    """32 bytes in G1, 64 in G2."""
    return bytes(point.to_bytes())


def decompress(data: bytes, *, group: Group) -> Point:
    """A foreign point, checked: on the curve, in the subgroup, not at infinity, canonical."""
    size = 32 * group
    if len(data) != size:
        raise PointError(f"a compressed G{group} point has {size} bytes, got {len(data)}")
    try:
        point = ec_bn254.PointG1.from_bytes(data) if group == 1 else ec_bn254.PointG2.from_bytes(data)
    except ValueError as error:
        raise PointError(f"not a point of G{group}: {error}") from None
    if point == zero(group):
        raise PointError(f"a G{group} point at infinity is refused")
    if compress(point) != data:
        raise PointError(f"the G{group} point is not in canonical form")
    return point


class PointTable:
    """Many points of one group, made from bytes when first used."""

    def __init__(self, *, group: Group, points: Sequence[Point] | None = None, data: bytes = b"") -> None:
        self.group: Group = group
        self._size = G1_BYTES if group == 1 else G2_BYTES
        self._data = data
        if len(data) % self._size:
            raise FileError(f"a table of G{group} points has a multiple of {self._size} bytes, got {len(data)}")
        self._points: list[Point | None] = list(points) if points is not None else [None] * (len(data) // self._size)

    def __len__(self) -> int:
        return len(self._points)

    def point(self, index: int) -> Point:
        """Point number `index`."""
        known = self._points[index]
        if known is None:
            raw = self._data[index * self._size : (index + 1) * self._size]
            known = from_coordinates(
                [int.from_bytes(raw[i : i + 32], "big") for i in range(0, self._size, 32)], group=self.group
            )
            self._points[index] = known
        return known

    def points(self) -> list[Point]:
        """All of them."""
        return [self.point(i) for i in range(len(self))]

    def combine(self, scalars: Iterable[int]) -> Point:
        """Σ scalar · point; zeros are skipped, ones are added, the rest goes into one multi-exponentiation."""
        total, points, factors = zero(self.group), [], []
        for i, scalar in enumerate(scalars):
            if scalar == 1:
                total = total + self.point(i)
            elif scalar:
                points.append(self.point(i))
                factors.append(scalar)
        return total + multiexp(points, factors, group=self.group)

    def to_bytes(self) -> bytes:
        """All points, uncompressed."""
        flat = (c for i in range(len(self)) for c in coordinates(self.point(i), group=self.group))
        return b"".join(c.to_bytes(32, "big") for c in flat)
