"""Label flipping: the attackers swap the labels of two classes."""

from __future__ import annotations

import numpy as np

from martfl.errors import InputError
from martfl.lab.attacks.base import Attack, Rows
from martfl.lab.data import Dataset, preset_of


def flip_pair(dataset: Dataset, first: int | None, second: int | None) -> tuple[int, int]:
    """The two classes: those given, else the dataset's own."""
    preset = preset_of(dataset.name).flip
    pair = (preset[0] if first is None else first, preset[1] if second is None else second)
    if pair[0] == pair[1] or not all(0 <= label < dataset.num_classes for label in pair):
        raise InputError(f"the two classes must differ and be 0 to {dataset.num_classes - 1}, got {pair}")
    return pair


def swap(labels: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
    """Labels with the two classes exchanged."""
    return np.where(labels == pair[0], pair[1], np.where(labels == pair[1], pair[0], labels))


def label_flipping(*, first: int | None = None, second: int | None = None) -> Attack:
    """ASR: the share of test rows of the two classes that are taken for the other one."""

    def poison(dataset: Dataset, rows: Rows, rng: np.random.Generator) -> Rows:
        return Rows(rows.x, swap(rows.y, flip_pair(dataset, first, second)))

    def probe(dataset: Dataset) -> Rows:
        pair = flip_pair(dataset, first, second)
        hit = np.isin(dataset.test_y, pair)
        return Rows(dataset.test_x[hit], swap(dataset.test_y[hit], pair))

    return Attack("label-flipping", "Tolpegin et al., Data poisoning, ESORICS 2020", poison=poison, probe=probe)
