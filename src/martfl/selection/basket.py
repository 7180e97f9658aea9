"""What an epoch brings before anything is judged: scores of everybody, and what was delivered."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.selection.hidden import hide
from martfl.selection.memory import Memory
from martfl.selection.strategy import Buyer, Vector
from martfl.selection.vectors import Matrix, compare, norm, norms, scale_rows, stack

SHORTEST = 1e-30  # a length below it is none: single precision has no number for its inverse much further down
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
    units: Matrix  # [k, m] of length 1; None where nothing was delivered
    lengths: Floats  # [k]
    sketches: Floats  # [k, d] of the units
    own: Floats  # [k] cosines with the buyer's own update
    ties: Floats  # [k] what each has in common with another, against random signs
    copies: NDArray[np.bool_]  # [k] whether an earlier one is the same
    hidden: Floats  # [k, d] sketches of what each hides where no root row reaches


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


def unpack_basket(
    delivered: Mapping[int, Vector], own: Vector, *, seed: int, size: int, numbers: bool = True
) -> Basket:
    """Directions and lengths; what is zero or not finite has none. Without `numbers`, none is looked at by itself."""
    places, lengths, units = _directions(delivered)
    if not places:
        return Basket((), None, lengths, np.empty((0, 0)), lengths, lengths, np.zeros(0, dtype=bool), np.empty((0, 0)))
    found = compare(units, own, seed=seed, size=size)
    copies = np.asarray(np.tril(found.cosines > SAME, k=-1).any(axis=1), dtype=bool)
    common = np.zeros(len(places))
    common[~copies] = found[~copies].ties()
    none = np.zeros_like(found.sketches)
    hidden = hide(units, own, found.heaviest, seed=seed, size=size) if numbers else none
    return Basket(places, units, lengths, found.sketches, found.reference, common, copies, hidden)


def _directions(delivered: Mapping[int, Vector]) -> tuple[tuple[int, ...], Floats, Matrix]:
    """(places [k], lengths [k], units [k, m]) of what has a direction."""
    order = sorted(delivered)
    if not order:
        return (), np.zeros(0), None
    units = stack([delivered[i] for i in order])
    lengths = norms(units)
    sound = np.isfinite(lengths) & (lengths > SHORTEST)
    units = units if sound.all() else units[np.flatnonzero(sound)]
    scale_rows(units, 1.0 / lengths[sound])
    return tuple(i for i, good in zip(order, sound, strict=True) if good), lengths[sound], units
