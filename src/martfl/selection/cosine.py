"""Scores in the clear: the cosine of each update with a baseline (paper, equation 1)."""

import numpy as np
from numpy.typing import ArrayLike

from martfl.errors import InputError
from martfl.selection.kmeans import Floats


def cosine_scores(updates: ArrayLike, baseline: ArrayLike) -> Floats:
    """cos(u_g, u_i) for every row u_i of `updates`.

    An all-zero update points nowhere and scores 0; an all-zero baseline is refused, because it can judge nobody.
    """
    rows = np.atleast_2d(np.asarray(updates, dtype=np.float64))  # [n, m]
    reference = np.asarray(baseline, dtype=np.float64).ravel()  # [m]
    if rows.shape[1] != reference.size:
        raise InputError(f"updates have {rows.shape[1]} parameters, the baseline has {reference.size}")
    broken = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if broken.size:
        raise InputError(f"updates must be finite, but those of providers {broken.tolist()} are not")
    length = np.linalg.norm(reference)
    if not np.isfinite(length) or length == 0.0:
        raise InputError(f"the baseline must be a finite, non-zero vector, its length is {length}")
    lengths = np.linalg.norm(rows, axis=1)
    products = rows @ (reference / length)
    scores = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return np.asarray(np.clip(scores, -1.0, 1.0))
