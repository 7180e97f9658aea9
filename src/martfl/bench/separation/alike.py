"""What sellers have in common, from inner products of their directions."""

from __future__ import annotations

import numpy as np

from martfl.arrays import Floats

NEAR = 3  # how many of the closest make it more than chance
AXES = 3


def likeness(gram: Floats, name: str) -> dict[str, Floats]:
    """With all others on average, with the closest one, and with the third closest."""
    pairs = np.array(gram)
    np.fill_diagonal(pairs, -np.inf)
    order = np.sort(pairs, axis=1)[:, ::-1]
    others = order[:, :-1]  # the last is each with itself
    third = others[:, min(NEAR, others.shape[1]) - 1]
    return {f"{name}mean": others.mean(axis=1), f"{name}closest": others[:, 0], f"{name}third closest": third}


def axes(gram: Floats, toward: Floats, name: str) -> dict[str, Floats]:
    """Places along the first principal components; positive is where `toward` is larger."""
    values, vectors = np.linalg.eigh(gram)
    found = {}
    for place in range(1, min(AXES, len(gram) - 1) + 1):
        along = vectors[:, -place] * np.sqrt(max(float(values[-place]), 0.0))
        sign = 1.0 if float((along - along.mean()) @ (toward - toward.mean())) >= 0 else -1.0
        found[f"axis {place}, {name}"] = sign * along
    return found


def beyond(gram: Floats, known: Floats) -> Floats:
    """Inner products of what a regression on `known` [n, p] and a constant leaves of the directions."""
    table = np.column_stack([np.ones(len(known)), known])
    scale = np.linalg.norm(table, axis=0)
    basis, weights, _ = np.linalg.svd(table / np.where(scale > 0, scale, 1.0), full_matrices=False)
    basis = basis[:, weights > 1e-8 * weights[0]]
    left = np.eye(len(gram)) - basis @ basis.T
    return np.asarray(left @ gram @ left)
