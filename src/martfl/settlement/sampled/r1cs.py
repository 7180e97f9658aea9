"""Rank-1 constraint systems over BN254's scalar field: A·w ∘ B·w = C·w, w = (1, public inputs, private values).

A circuit is written once, against `System`, and run twice: the `Compiler` records its constraints (expressions are
linear combinations of wires, values are ignored), the `Solver` computes the wires' values (expressions are integers)
and stops at the first constraint that does not hold. Both see the same sequence of calls, so wires cannot drift apart.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from martfl.settlement.errors import SettlementError
from martfl.settlement.sampled.statement import FIELD

SparseRow = dict[int, int]  # wire → coefficient
E = TypeVar("E")


class UnsatisfiedError(SettlementError):
    """The values do not satisfy the circuit: there is nothing to prove."""


class System(Protocol[E]):
    """What a circuit may do; E is the type of its expressions."""

    def wire(self, value: int, *, public: bool = False) -> E:
        """A new wire; all public ones come first."""
        ...

    def combine(self, terms: Sequence[tuple[int, E]], constant: int = 0) -> E:
        """constant + Σ coefficient · expression: costs nothing."""
        ...

    def multiply(self, left: E, right: E) -> E:
        """A new wire that is the product: one constraint."""
        ...

    def require(self, left: E, right: E, result: E, *, label: str) -> None:
        """left · right = result: one constraint."""
        ...

    def equal(self, left: E, right: E, *, label: str) -> None:
        """left = right: one constraint."""
        ...


@dataclass(frozen=True)
class R1CS:
    """Three sparse matrices by rows, and how many of the wires are public (wire 0, the constant one, included)."""

    a: tuple[SparseRow, ...]
    b: tuple[SparseRow, ...]
    c: tuple[SparseRow, ...]
    wires: int
    public: int

    @property
    def constraints(self) -> int:
        """Rows."""
        return len(self.a)

    def digest(self) -> str:
        """A name for the circuit itself: keys belong to exactly one."""
        h = hashlib.sha256(f"{self.wires} {self.public}".encode())
        for rows in zip(self.a, self.b, self.c, strict=True):
            h.update(repr([sorted(row.items()) for row in rows]).encode())
        return h.hexdigest()


@dataclass
class Compiler:
    """Records constraints; expressions are linear combinations."""

    wires: int = 1
    public: int = 1
    rows: list[tuple[SparseRow, SparseRow, SparseRow]] = field(default_factory=list)

    def wire(self, value: int, *, public: bool = False) -> SparseRow:
        if public:
            if self.wires != self.public:
                raise SettlementError("public wires come before private ones")
            self.public += 1
        self.wires += 1
        return {self.wires - 1: 1}

    def combine(self, terms: Sequence[tuple[int, SparseRow]], constant: int = 0) -> SparseRow:
        total: SparseRow = {0: constant % FIELD} if constant % FIELD else {}
        for factor, expression in terms:
            for wire, coefficient in expression.items():
                total[wire] = total.get(wire, 0) + factor * coefficient
        return {wire: reduced for wire, c in total.items() if (reduced := c % FIELD)}

    def multiply(self, left: SparseRow, right: SparseRow) -> SparseRow:
        product = self.wire(0)
        self.rows.append((left, right, product))
        return product

    def require(self, left: SparseRow, right: SparseRow, result: SparseRow, *, label: str) -> None:
        self.rows.append((left, right, result))

    def equal(self, left: SparseRow, right: SparseRow, *, label: str) -> None:
        self.rows.append((self.combine([(1, left), (-1, right)]), {0: 1}, {}))

    def finish(self) -> R1CS:
        """The recorded system."""
        a, b, c = zip(*self.rows, strict=True)
        return R1CS(a, b, c, self.wires, self.public)


@dataclass
class Solver:
    """Computes the wires and both sides of every constraint; expressions are field elements."""

    values: list[int] = field(default_factory=lambda: [1])
    left: list[int] = field(default_factory=list)  # A·w
    right: list[int] = field(default_factory=list)  # B·w
    result: list[int] = field(default_factory=list)  # C·w

    def wire(self, value: int, *, public: bool = False) -> int:
        self.values.append(value % FIELD)
        return self.values[-1]

    def combine(self, terms: Sequence[tuple[int, int]], constant: int = 0) -> int:
        return (constant + sum(factor * value for factor, value in terms)) % FIELD

    def multiply(self, left: int, right: int) -> int:
        product = self.wire(left * right)
        self._record(left, right, product)
        return product

    def require(self, left: int, right: int, result: int, *, label: str) -> None:
        if (left * right - result) % FIELD:
            raise UnsatisfiedError(f"the values do not satisfy the circuit: {label}")
        self._record(left, right, result)

    def equal(self, left: int, right: int, *, label: str) -> None:
        self.require((left - right) % FIELD, 1, 0, label=label)

    def _record(self, left: int, right: int, result: int) -> None:
        self.left.append(left)
        self.right.append(right)
        self.result.append(result)
