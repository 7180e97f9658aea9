"""What an update holds beyond what everybody knows: the model's last step is public, and mixing it in is free."""

from dataclasses import dataclass

import numpy as np

from martfl.arrays import Floats

SHORT = 0.03  # of a unit direction: what is left below this is rounding


@dataclass(frozen=True)
class Novelty:
    """Directions and their gains by row, without the public step."""

    directions: Floats  # [k, d] of length 1; shorter where nothing was left
    gains: Floats  # [k, r] per unit of the direction


def beyond_public(directions: Floats, gains: Floats, step: Floats | None, step_gains: Floats | None) -> Novelty:
    """r_i = d_i − (d_i·s)·s, made a unit again: adding any multiple of s to an update leaves r_i as it is."""
    units = _units(directions)
    if step is None or step_gains is None or not np.linalg.norm(step) > 0:
        return Novelty(units, gains)
    public = step / np.linalg.norm(step)
    shares = units @ public  # [k]
    left = units - np.outer(shares, public)
    lengths = np.maximum(np.linalg.norm(left, axis=1), SHORT)[:, None]
    return Novelty(left / lengths, (gains - np.outer(shares, step_gains)) / lengths)


def _units(directions: Floats) -> Floats:
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(np.divide(directions, lengths, out=np.zeros_like(directions), where=lengths > 0))
