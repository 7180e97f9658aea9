"""What updates hide: the heaviest numbers that they learnt where no root row reaches.

No root row reaches a number of the model that the buyer's own training never moves. What a provider learns there cannot
be judged by the root data; but it can be compared with what others learn there.
"""

import numpy as np

from martfl.arrays import Floats
from martfl.selection.strategy import Vector
from martfl.selection.vectors import Matrix, heavy_sketches

HEAVY = 0.5  # of the usual heaviest number where root rows reach: what lies elsewhere counts in full from there on …
FADES = 4  # … and less below it, by this power: honest ones have 0.5 to 1.0 in text, 0.4 and less in images
LONGEST = 2.0  # times the usual number of heavy numbers may count: more would be noise of the sketch


def hide(units: Matrix, own: Vector, heaviest: Floats, *, seed: int, size: int) -> Floats:
    """[k, d] sketches of what each of k directions hides: of length 1 where that is usual, shorter where it is light.

    `heaviest` [k] is how heavy their heaviest numbers are where root rows reach. Numbers are cut at what is usual
    there, and lengths measured by it: one number that is heavier than all others hides nothing, many of them do.
    """
    usual = float(np.median(heaviest))
    if not usual > 0 or not bool((own == 0).any()):
        return np.zeros((len(units), min(size, units.shape[1])))
    found, heavy = heavy_sketches(units, own, bound=usual, seed=seed, size=size)
    lengths = np.linalg.norm(found, axis=1)
    reach = np.minimum(1.0, heavy / (HEAVY * usual)) ** FADES
    return found * (reach / units_of(lengths))[:, None]


def units_of(lengths: Floats) -> Floats:
    """[k] by what each is divided: its own length or the usual one if that is shorter, but half of its own at least."""
    known = lengths[lengths > 0]
    usual = float(np.median(known)) if known.size else 1.0
    return np.maximum(np.maximum(np.minimum(lengths, usual), lengths / LONGEST), np.finfo(np.float64).tiny)
