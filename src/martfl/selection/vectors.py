"""Vectors of numpy or torch as the rules need them: lengths, cosines, and sketches that keep cosines.

Many vectors are one matrix [k, m], wherever they lie. What is asked of it is added up in blocks of columns in double
precision, so that no wide copy of the whole is made, and read by the host at the end, once: on an accelerator every
number that is read by itself costs more than computing it.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from martfl.arrays import Floats
from martfl.selection.strategy import Vector

Matrix = Any  # [k, m], of numpy or torch

COLUMNS = 1 << 15  # that are widened at once: they fit into a processor's cache
COLUMNS_ALONE = 1 << 18  # of a single vector
COLUMNS_ELSEWHERE = 1 << 20  # an accelerator wants few, large steps
SUMS = 4  # numbers that `compare` adds up of each direction, beside pairs and sketches


def norm(vector: Vector) -> float:
    """Euclidean length; NaN or infinite where an entry is."""
    return math.sqrt(total) if (total := float(vector @ vector)) >= 0 else math.nan


def cosine(a: Vector, b: Vector) -> float:
    """cos(a, b); 0 where one of them is zero."""
    lengths = norm(a) * norm(b)
    return float(a @ b) / lengths if lengths > 0 else 0.0


def to_floats(vector: Vector) -> Floats:
    """A float64 copy in numpy, wherever the vector lies."""
    return np.array(vector.cpu().numpy() if hasattr(vector, "cpu") else vector, dtype=np.float64)


def stack(vectors: Sequence[Vector], *, above: int = 0) -> Matrix:
    """[above + k, m] a copy of the vectors, below so many rows that are yet to be filled; k ≥ 1."""
    shape = (above + len(vectors), len(vectors[0]))
    whole = vectors[0].new_empty(shape) if _is_tensor(vectors[0]) else np.empty(shape, vectors[0].dtype)
    for place, vector in enumerate(vectors, start=above):
        whole[place] = vector
    return whole


def norms(matrix: Matrix) -> Floats:
    """[k] lengths of the rows; NaN or infinite where an entry is."""
    total = _zeros(matrix, 1)
    for columns in _blocks(matrix):
        wide = _wide(matrix[:, columns])
        total[:, 0] += (wide * wide).sum(1)
    return np.sqrt(to_floats(total)[:, 0])


def scale_rows(matrix: Matrix, factors: Floats) -> None:
    """Every row times its factor, in place."""
    matrix *= (matrix.new_tensor(factors) if _is_tensor(matrix) else factors.astype(matrix.dtype))[:, None]


def weighted_sum(matrix: Matrix, weights: Floats) -> Vector:
    """[m] Σ w_i · row_i over the weights that are not 0; row by row, since matrix products may round more."""
    total = matrix[0] * 0.0
    for row in np.flatnonzero(weights):
        total += matrix[int(row)] * float(weights[row])
    return total


@dataclass(frozen=True)
class Likeness:
    """What k directions have in common with each other and with a reference."""

    sketches: Floats  # [k, d]
    cosines: Floats  # [k, k]
    chance: Floats  # [k, k] what the cosines would deviate by if signs were random
    reference: Floats  # [k] cosines with the reference; 0 where that is zero
    heaviest: Floats  # [k] how heavy the heaviest numbers are where the reference is not zero

    def ties(self) -> Floats:
        """[k] how much each has in common with the one that it is closest to, or most opposed to, in deviations.

        Under random signs  a·b = Σ ±|a_i b_i|  deviates by  √(Σ a_i² b_i²), whatever the lengths of the coordinates.
        """
        if len(self.cosines) < 2:
            return np.zeros(len(self.cosines))
        found = np.abs(self.cosines) / np.maximum(self.chance, 1e-150)
        np.fill_diagonal(found, 0.0)
        return np.asarray(found.max(axis=1))

    def __getitem__(self, rows: Any) -> "Likeness":
        pairs = np.ix_(rows, rows)
        parts = (self.sketches[rows], self.cosines[pairs], self.chance[pairs])
        return Likeness(*parts, self.reference[rows], self.heaviest[rows])


def compare(units: Matrix, reference: Vector, *, seed: int, size: int) -> Likeness:
    """All that is asked of k ≥ 1 directions of length 1, in one pass and with one transfer to the host.

    How heavy the heaviest numbers are is  √(Σ u⁸ / Σ u⁶).
    """
    (k, m), width = units.shape, min(size, units.shape[1])
    places = np.cumsum([0, k, k, SUMS, width]).tolist()
    found = _zeros(units, places[-1])
    cosines, chance, sums, direct = (found[:, a:b] for a, b in itertools.pairwise(places))
    for columns in _blocks(units, size):
        wide, beside = _wide(units[:, columns]), _wide(reference[columns])
        squares = wide * wide
        fourth = squares * squares
        light = _wide((beside != 0)[None])[0]
        cosines += wide @ wide.T
        chance += squares @ squares.T
        sums[:, 0] += wide @ beside
        sums[:, 1] += beside @ beside
        sums[:, 2] += (fourth * fourth) @ light
        sums[:, 3] += (fourth * squares) @ light
        _fold(wide, columns, direct, seed=seed, parameters=m)
    cosines, chance, sums, direct = (to_floats(found)[:, a:b] for a, b in itertools.pairwise(places))
    along = _ratio(sums[:, 0], np.sqrt(sums[:, 1]))
    return Likeness(direct, cosines, np.sqrt(chance), along, np.sqrt(_ratio(sums[:, 2], sums[:, 3])))


def heavy_sketches(units: Matrix, reference: Vector, *, bound: float, seed: int, size: int) -> tuple[Floats, Floats]:
    """([k, min(size, m)], [k]) sketches of the heaviest numbers where the reference is zero, and how heavy these are.

    Numbers are taken in units of `bound` and cut there, and to their seventh power, which only the heaviest survive:
    Σ v⁷w⁷ for two of them. The sketches' own lengths say how many heavy numbers there are.
    """
    m = units.shape[1]
    width = min(size, m)
    found = _zeros(units, width + 2)
    for columns in _blocks(units, size):
        part = (units[:, columns] * (reference[columns] == 0) / bound).clip(-1.0, 1.0)
        squares = part * part
        sixth = squares * squares * squares
        found[:, width] += (sixth * squares).sum(1)
        found[:, width + 1] += sixth.sum(1)
        _fold(_wide(sixth * part), columns, found[:, :width], seed=seed, parameters=m)
    host = to_floats(found)
    return host[:, :width], bound * np.sqrt(_ratio(host[:, width], host[:, width + 1]))


def _ratio(above: Floats, below: Floats) -> Floats:
    """above / below; 0 where nothing is below."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def sketches(vectors: Sequence[Vector], *, seed: int, size: int) -> Floats:
    """[k, min(size, m)]: inner products survive with an error of 1/√size.

    Every coordinate gets a random sign, then blocks of `size` coordinates are added up. Vectors that are short enough
    are taken as they are.
    """
    if not len(vectors):
        return np.empty((0, 0))
    m = len(vectors[0])
    if m <= size:
        return to_floats(stack(vectors))
    found = _zeros(vectors[0][None], size, rows=len(vectors))
    signs = _signs(seed, m, vectors[0].device if _is_tensor(vectors[0]) else None)
    for columns in _blocks(vectors[0][None], size, most=COLUMNS_ALONE):
        turned = _single(signs[columns])
        for place, vector in enumerate(vectors):
            _add_up(vector[columns] * turned, found[place])
    return to_floats(found)


def _fold(wide: Matrix, columns: slice, into: Matrix, *, seed: int, parameters: int) -> None:
    """Add a block of columns, which begins at a multiple of the sketches' size, to the sketches; `wide` is used up."""
    if parameters > into.shape[1]:
        wide *= _signs(seed, parameters, wide.device if _is_tensor(wide) else None)[columns]
    _add_up(wide, into)


def _add_up(numbers: Matrix, into: Matrix) -> None:
    """Blocks of numbers [..., n], as wide as `into` [..., size], are added to it."""
    size, width = into.shape[-1], numbers.shape[-1]
    whole = width // size * size
    into += numbers[..., :whole].reshape(*into.shape[:-1], -1, size).sum(-2)
    into[..., : width - whole] += numbers[..., whole:]


@lru_cache(maxsize=2)
def _signs(seed: int, size: int, device: Any) -> Vector:
    """[size] of ±1 in a byte each, on a device of torch, or None for numpy; kept, since epochs share them."""
    raw = np.random.default_rng(seed).integers(0, 2, size, dtype=np.int8) * np.int8(2) - np.int8(1)
    if device is None:
        return raw
    import torch  # it is here already: its vectors are

    return torch.from_numpy(raw).to(device)


def _blocks(matrix: Matrix, multiple: int = 1, *, most: int = COLUMNS) -> Iterator[slice]:
    """Columns in blocks, each as wide as a multiple of so many."""
    most = most if not _is_tensor(matrix) or matrix.device.type == "cpu" else COLUMNS_ELSEWHERE
    width = max(1, most // multiple) * multiple
    for begin in range(0, matrix.shape[1], width):
        yield slice(begin, begin + width)


def _zeros(like: Matrix, columns: int, *, rows: int | None = None) -> Matrix:
    """[k, columns] of zeros in double precision, where `like` lies."""
    shape = (len(like) if rows is None else rows, columns)
    return like[:0].double().new_zeros(shape) if _is_tensor(like) else np.zeros(shape)


def _wide(values: Matrix) -> Matrix:
    """A copy in double precision."""
    if not _is_tensor(values):
        return values.astype(np.float64)
    wide = values.double()
    return wide.clone() if wide is values else wide


def _single(values: Vector) -> Vector:
    """A copy in single precision: times a vector it has at least that."""
    return values.float() if _is_tensor(values) else values.astype(np.float32)


def _is_tensor(values: Any) -> bool:
    return hasattr(values, "new_tensor")
