"""Scores in the clear: the cosine of each update with a baseline (paper, equation 1)."""

import numpy as np
from numpy.typing import ArrayLike

from martfl.arrays import Floats
from martfl.errors import InputError


def cosine_scores(updates: ArrayLike, baseline: ArrayLike) -> Floats:
    """cos(u_g, u_i) for every row u_i of `updates`.

    An all-zero update points nowhere and scores 0; an all-zero baseline is refused, because it can judge nobody.

    Examples:
        >>> cosine_scores([[1, 0], [1, 1], [0, -2]], [2, 0]).round(3).tolist()
        [1.0, 0.707, 0.0]
    """
    rows, reference = _numbers(updates, "updates"), _numbers(baseline, "the baseline").ravel()  # [n, m], [m]
    rows = rows[None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != reference.size:
        raise InputError(f"updates must have shape (n, {reference.size}) as the baseline has, got {rows.shape}")
    if reference.size == 0 or not np.isfinite(reference).all() or not reference.any():
        raise InputError(f"the baseline must be a finite, non-zero vector, got {reference.size} entries that are not")
    broken = [i for i, row in enumerate(rows) if not np.isfinite(row).all()]
    if broken:
        raise InputError(f"updates must be finite, but those of providers {broken} are not")
    direction = _unit(reference)
    return np.asarray(np.clip([_unit(row) @ direction for row in rows], -1.0, 1.0), dtype=np.float64)


def _numbers(values: ArrayLike, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be real numbers in rows of one length, got {values!r:.100}") from None


def _unit(vector: Floats) -> Floats:
    """x / ‖x‖, or zeros for zeros. Divided by max|x| first: squares of very large or small numbers leave the range."""
    peak = np.abs(vector).max()
    if peak == 0.0:
        return vector
    scaled = vector / peak
    return np.asarray(scaled / np.linalg.norm(scaled))
