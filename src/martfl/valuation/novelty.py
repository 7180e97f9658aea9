"""What an update holds beyond what everybody knows: the model's last steps are public, and mixing them in is free."""

from dataclasses import dataclass

import numpy as np

from martfl.arrays import Floats

SAME = 0.1  # of the longer way among steps: below it two of them are one
SHORT = 0.03  # of a unit direction: what is left below this is rounding


@dataclass(frozen=True)
class Novelty:
    """Directions and their gains by row, without the public steps."""

    directions: Floats  # [k, d] of length 1; shorter where nothing was left
    gains: Floats  # [k, r] per unit of the direction


def beyond_public(directions: Floats, gains: Floats, steps: Floats | None, step_gains: Floats | None) -> Novelty:
    """r_i = d_i − Σ_j c_ij·s_j, made a unit again: adding any multiple of a step s_j to an update leaves r_i as it is.

    Steps [j, d] and their gains [j, r] per unit; one step may be a vector.
    """
    units = _units(directions)
    if steps is None or step_gains is None or not np.linalg.norm(steps) > 0:
        return Novelty(units, gains)
    public = _units(np.atleast_2d(steps))
    parts = units @ np.linalg.pinv(public, rcond=SAME)  # [k, j]
    left = units - parts @ public
    lengths = np.maximum(np.linalg.norm(left, axis=1), SHORT)[:, None]
    return Novelty(left / lengths, (gains - parts @ np.atleast_2d(step_gains)) / lengths)


def _units(directions: Floats) -> Floats:
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(np.divide(directions, lengths, out=np.zeros_like(directions), where=lengths > 0))
