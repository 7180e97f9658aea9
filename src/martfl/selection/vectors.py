"""Vectors of numpy or torch as the rules need them: lengths, cosines, and sketches that keep cosines."""

import math
from collections.abc import Sequence

import numpy as np

from martfl.arrays import Floats
from martfl.selection.strategy import Vector


def norm(vector: Vector) -> float:
    """Euclidean length; NaN or infinite where an entry is."""
    return math.sqrt(total) if (total := float(vector @ vector)) >= 0 else math.nan


def cosine(a: Vector, b: Vector) -> float:
    """cos(a, b); 0 where one of them is zero."""
    lengths = norm(a) * norm(b)
    return float(a @ b) / lengths if lengths > 0 else 0.0


def ties(units: Sequence[Vector]) -> Floats:
    """[k] how much each has in common with the one that it is closest to, or most opposed to, in deviations.

    Under random signs  a·b = Σ ±|a_i b_i|  deviates by  √(Σ a_i² b_i²), whatever the lengths of the coordinates are.
    """
    squares = [unit * unit for unit in units]
    found = np.zeros((len(units), len(units)))
    for i in range(len(units)):
        for j in range(i):
            spread = math.sqrt(max(float(squares[i] @ squares[j]), 1e-300))
            found[i, j] = found[j, i] = abs(float(units[i] @ units[j])) / spread
    return np.asarray(found.max(axis=1)) if len(units) > 1 else np.zeros(len(units))


def to_floats(vector: Vector) -> Floats:
    """A float64 copy in numpy, wherever the vector lies."""
    return np.array(vector.cpu().numpy() if hasattr(vector, "cpu") else vector, dtype=np.float64)


def sketches(vectors: Sequence[Vector], *, seed: int, size: int) -> Floats:
    """[k, min(size, m)]: inner products survive with an error of 1/√size.

    Every coordinate gets a random sign, then blocks of `size` coordinates are added up. Vectors that are short enough
    are taken as they are.
    """
    if not len(vectors):
        return np.empty((0, 0))
    first = vectors[0]
    if len(first) <= size:
        return np.stack([to_floats(vector) for vector in vectors])
    raw = np.random.default_rng(seed).integers(0, 2, len(first), dtype=np.int8) * 2 - 1
    signs = first.new_tensor(raw) if hasattr(first, "new_tensor") else raw.astype(first.dtype)
    return np.stack([to_floats(_fold(vector * signs, size)) for vector in vectors])


def _fold(vector: Vector, size: int) -> Vector:
    whole = len(vector) // size * size
    folded = vector[:whole].reshape(-1, size).sum(0)
    folded[: len(vector) - whole] += vector[whole:]
    return folded
