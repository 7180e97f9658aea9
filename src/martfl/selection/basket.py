"""What an epoch brings before anything is judged: scores of everybody, and what was delivered."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.selection.memory import Memory
from martfl.selection.strategy import Buyer, Vector
from martfl.selection.vectors import norm, sketches, ties

SAME = 0.999  # cosine from which two updates are one; no two that were trained apart come near it


@dataclass(frozen=True)
class Scores:
    """What is known of everybody without buying: cosines under encryption."""

    own: Floats  # [n] with the buyer's own update; NaN for who gave no valid answer
    last: Floats  # [n] with the model's last step; NaN where there is none

    def followers(self, limit: float) -> NDArray[np.bool_]:
        """Who repeats the last step; nobody where all do, since then nobody stands out."""
        found = np.nan_to_num(self.last, nan=-1.0) > limit
        return np.zeros_like(found) if found.all() else found


@dataclass(frozen=True)
class Basket:
    """What was delivered and has a direction."""

    places: tuple[int, ...]  # [k] among the providers
    units: tuple[Vector, ...]  # [k] of length 1
    lengths: Floats  # [k]
    sketches: Floats  # [k, d] of the units
    ties: Floats  # [k] what each has in common with another, against random signs
    copies: NDArray[np.bool_]  # [k] whether an earlier one is the same


def ask(buyer: Buyer, memory: Memory) -> Scores:
    """The two encrypted scores of an epoch."""
    nothing = np.full(len(buyer.providers), np.nan)
    own = buyer.score(buyer.own_update) if norm(buyer.own_update) > 0 else nothing
    if (
        memory.model is None
        or len(memory.model) != len(buyer.model)
        or not norm(step := buyer.model - memory.model) > 0
    ):
        return Scores(own, nothing)
    return Scores(own, buyer.score(step))


def unpack_basket(delivered: Mapping[int, Vector], *, seed: int, size: int) -> Basket:
    """Directions and lengths; what is zero or not finite has none."""
    lengths = {i: norm(vector) for i, vector in delivered.items()}
    places = tuple(i for i in sorted(delivered) if math.isfinite(lengths[i]) and lengths[i] > 0)
    units = tuple(delivered[i] / lengths[i] for i in places)
    small = sketches(units, seed=seed, size=size)
    near = np.tril(small @ small.T > SAME, k=-1) if places else np.zeros((0, 0), dtype=bool)
    copies = np.asarray(near.any(axis=1), dtype=bool)
    apart = ties([unit for unit, copy in zip(units, copies, strict=True) if not copy])
    common = np.zeros(len(places))
    common[~copies] = apart
    return Basket(places, units, np.array([lengths[i] for i in places]), small, common, copies)
