"""The peer of exact settlement: the plain layout, written down here to be measured beside ours.

Offset values (no signs) in slots of 32 bits, seven to a scalar, one object for each scalar and each point, and
py_arkworks' multi-scalar multiplication over them: what one writes first.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from py_arkworks_bls12381 import G1Point, Scalar

from martfl.arrays import Integers
from martfl.settlement.exact import Generators, SlotLayout
from martfl.settlement.exact.packing import combine_packed

LAYOUT = SlotLayout(
    bits=16, epochs=1, initial_bound=0, most_slots=7
)  # an update or one aggregate, nothing longer: 32 bits
UPDATE_OFFSET, AGGREGATE_OFFSET = 1 << 15, 1 << 31


@dataclass(frozen=True, repr=False)
class Peer:
    """The generators as objects."""

    points: list[G1Point]

    @classmethod
    def load(cls, generators: Generators, *, parameters: int) -> "Peer":
        """As many as the plain layout needs."""
        return cls(generators.points(LAYOUT.points(parameters)))

    def commit(self, update: Integers) -> G1Point:
        """Σ_j pack(q + 2^15)_j·G_j."""
        return self._sum(_pack(update.astype(np.int64) + UPDATE_OFFSET))

    def commit_aggregate(self, aggregate: npt.NDArray[np.int64]) -> G1Point:
        """Σ_j pack(Σ k q + 2^31)_j·G_j: what a verifier of the aggregate computes."""
        return self._sum(_pack(aggregate + AGGREGATE_OFFSET))

    def fold(self, updates: Sequence[Integers]) -> G1Point:
        """Σ_j (Σ_i c_i q_i)_j·G_j at random c_i of 128 bits: what a verifier of many openings computes."""
        return self._sum(combine_packed(updates, [secrets.randbits(128) for _ in updates], LAYOUT, 128).tobytes())

    def _sum(self, packed: bytes) -> G1Point:
        scalars = [Scalar.from_le_bytes(packed[at : at + 32]) for at in range(0, len(packed), 32)]
        return G1Point.multiexp_unchecked(self.points, scalars)


def _pack(values: npt.NDArray[np.int64]) -> bytes:
    rows = np.zeros((LAYOUT.points(values.size), LAYOUT.slots), "<u4")  # (M, 7)
    rows.reshape(-1)[: values.size] = values
    return np.pad(rows, ((0, 0), (0, 1))).tobytes()  # 28 bytes and 4 zeros
