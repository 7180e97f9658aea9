"""Additively homomorphic commitments to integer vectors: commit, open, open many at once.

    C(v, ρ) = Σ_j scalar_j(v) · G_j + ρ·H           (packing in `layout.py`; linear in (v, ρ), no offset anywhere)

Hiding is perfect for uniform ρ. Binding rests on discrete logarithms, *for vectors in range*: every check below
looks at every slot's range first.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from py_arkworks_bls12381 import G1Point

from martfl.arrays import Integers
from martfl.settlement.errors import OpeningError, RangeError, SettlementError
from martfl.settlement.exact.generators import Generators, Progress, blinding_generator
from martfl.settlement.exact.layout import SlotLayout
from martfl.settlement.exact.packing import combine_packed, slot_columns
from martfl.settlement.exact.plain import ORDER, multiexp
from martfl.settlement.exact.point import Commitment
from martfl.settlement.exact.sums import sum_columns, sum_scalars

CHALLENGE_BITS = 128


@dataclass(frozen=True)
class Opening:
    """The blinding ρ of a commitment, 0 ≤ ρ < r; secret until the update is bought.

    Examples:
        >>> Opening.from_bytes(Opening(7).to_bytes()) == Opening(7)
        True
        >>> Opening(7)  # the blinding is not shown
        Opening()
    """

    blinding: int = field(repr=False)

    def __post_init__(self) -> None:
        check_scalar(self.blinding)

    @classmethod
    def random(cls) -> "Opening":
        """A uniform blinding."""
        return cls(secrets.randbelow(ORDER))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Opening":
        """Read 32 big-endian bytes."""
        if len(data) != 32:
            raise SettlementError(f"an opening has 32 bytes, got {len(data)}")
        return cls(int.from_bytes(data, "big"))

    def to_bytes(self) -> bytes:
        """32 big-endian bytes."""
        return self.blinding.to_bytes(32, "big")


@dataclass(frozen=True, kw_only=True, repr=False)
class CommitmentKey:
    """What everybody in a market commits with: the layout, the number of parameters, the generators.

    ⌈parameters / slots⌉ generators

    Examples:
        >>> key = CommitmentKey.load(parameters=10)
        >>> key.layout.points(key.parameters)
        2
    """

    layout: SlotLayout
    parameters: int
    generators: Generators

    def __post_init__(self) -> None:
        self.generators.take(self.layout.points(self.parameters))

    @classmethod
    def load(
        cls, *, parameters: int, layout: SlotLayout | None = None, progress: Progress | None = None
    ) -> "CommitmentKey":
        """The key for `parameters` values; generators come from the cache."""
        terms = layout or SlotLayout()
        generators = Generators.load(terms.points(parameters), progress=progress)
        return cls(layout=terms, parameters=parameters, generators=generators)


def commit(
    update: Integers, key: CommitmentKey, *, blinding: int | None = None, threads: int | None = None
) -> tuple[Commitment, Opening]:
    """Commit to a quantised update, with a fresh blinding unless one is given.

    C = Σ scalar_j(q)·G_j + ρ·H

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> commitment, opening = commit(np.array([1, -2, 3], np.int16), key)
        >>> verify_opening(np.array([1, -2, 3], np.int16), commitment, opening, key)
        True
    """
    values = key.layout.check_update(update, parameters=key.parameters)
    opening = Opening.random() if blinding is None else Opening(blinding)
    return Commitment.from_point(_commit_point(values, opening.blinding, key, threads)), opening


def commit_model(model: Integers, blinding: int, key: CommitmentKey, *, threads: int | None = None) -> Commitment:
    """The commitment of an integer model at a revealed blinding.

    C = Σ scalar_j(W)·G_j + ρ·H

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> model = np.array([65_536, 0, -1])
        >>> commit_model(model, 1, key) == commit_model(model, 2, key)
        False
    """
    values = key.layout.check_model(model, parameters=key.parameters)
    check_scalar(blinding)
    return Commitment.from_point(_commit_point(values, blinding, key, threads))


def check_opening(
    update: Integers, commitment: Commitment, opening: Opening, key: CommitmentKey, *, threads: int | None = None
) -> None:
    """Raise unless `commitment` opens to `update` and every value is in range.

    C = Σ scalar_j(q)·G_j + ρ·H and |q| ≤ 2^(b−1) − 1

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> update = np.array([1, -2, 3], np.int16)
        >>> check_opening(update, *commit(update, key), key)  # raises where it does not open
    """
    expected, _ = commit(update, key, blinding=opening.blinding, threads=threads)
    if expected != commitment:
        raise OpeningError(f"the update opens {expected}, committed was {commitment}")


def verify_opening(
    update: Integers, commitment: Commitment, opening: Opening, key: CommitmentKey, *, threads: int | None = None
) -> bool:
    """Whether `commitment` opens to `update`, every value in range.

    C = Σ scalar_j(q)·G_j + ρ·H and |q| ≤ 2^(b−1) − 1

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> commitment, opening = commit(np.array([1, -2, 3], np.int16), key)
        >>> verify_opening(np.array([1, -2, 4], np.int16), commitment, opening, key)
        False
    """
    try:
        check_opening(update, commitment, opening, key, threads=threads)
    except SettlementError:
        return False
    return True


def batch_verify_openings(
    updates: Sequence[Integers],
    commitments: Sequence[Commitment],
    openings: Sequence[Opening],
    key: CommitmentKey,
    *,
    threads: int | None = None,
) -> bool:
    """Whether every commitment opens, by one multi-scalar multiplication.

        Σ c_i·C_i = C(Σ c_i·q_i, Σ c_i·ρ_i)     c_i uniform in 1 … 2^128 − 1, drawn here, after all inputs are fixed

    If any single opening is false the equation holds for at most one value of its c_i: chance below 2^−127.

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> updates = [np.array([1, -2, 3], np.int16), np.array([0, 5, 0], np.int16)]
        >>> commitments, openings = zip(*(commit(update, key) for update in updates), strict=True)
        >>> batch_verify_openings(updates, commitments, openings, key)
        True
    """
    if not len(updates) == len(commitments) == len(openings) or not updates:
        raise SettlementError(
            "one commitment and one opening per update, at least one: "
            f"got {len(updates)} updates, {len(commitments)} commitments, {len(openings)} openings"
        )
    try:
        values = [key.layout.check_update(u, parameters=key.parameters) for u in updates]
    except SettlementError:
        return False
    challenges = [1 + secrets.randbelow((1 << CHALLENGE_BITS) - 1) for _ in values]
    scalars = combine_packed(values, challenges, key.layout, CHALLENGE_BITS)
    vectors = sum_scalars(key.generators.take(len(scalars)), scalars, threads=threads)
    blinding = sum(c * o.blinding for c, o in zip(challenges, openings, strict=True))
    points = [blinding_generator(), *(c.to_point() for c in commitments)]
    return bool(vectors + multiexp(points, [blinding, *(-c for c in challenges)]) == G1Point.identity())


def find_bad_openings(
    updates: Sequence[Integers], commitments: Sequence[Commitment], openings: Sequence[Opening], key: CommitmentKey
) -> list[int]:
    """Positions whose commitment does not open, by halving: one batch where all are honest.

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> updates = [np.array([1, -2, 3], np.int16), np.array([0, 5, 0], np.int16)]
        >>> commitments, openings = zip(*(commit(update, key) for update in updates), strict=True)
        >>> find_bad_openings([updates[0], updates[0]], commitments, openings, key)
        [1]
    """
    if batch_verify_openings(updates, commitments, openings, key):
        return []
    if len(updates) == 1:
        return [0]
    half = len(updates) // 2
    left = find_bad_openings(updates[:half], commitments[:half], openings[:half], key)
    right = find_bad_openings(updates[half:], commitments[half:], openings[half:], key)
    return left + [half + i for i in right]


def check_scalar(value: int) -> int:
    """A canonical scalar: 0 ≤ value < r."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < ORDER:
        raise RangeError(f"a scalar is an integer with 0 ≤ x < r = {ORDER:#x}, got {value!r}")
    return value


def _commit_point(values: Integers, blinding: int, key: CommitmentKey, threads: int | None) -> G1Point:
    columns = slot_columns(values, key.layout)  # (s, M)
    points = key.generators.take(columns.shape[1])
    vector = sum_columns(points, columns, width=key.layout.width, threads=threads)
    return vector + multiexp([blinding_generator()], [blinding])
