"""Baseline capture: the best provider on the root data's classes, the worst on all others.

Against martFL (Li et al., CCS 2023), which takes the best provider on the root data as its baseline: attackers who know
which classes those data hold learn them well, and learn every other class as one of them. On the root data they look
better than honest providers, because they never predict a class that those data do not hold.
"""

from __future__ import annotations

import numpy as np

from martfl.lab.attacks.base import Attack, Rows
from martfl.lab.data import Dataset

PAPER = "an adaptive attack on the baseline of Li et al., martFL, CCS 2023"


def relabel(labels: np.ndarray, classes: tuple[int, ...], num_classes: int) -> np.ndarray:
    """Labels with every class outside `classes` turned into one of them, each always into the same."""
    others = [number for number in range(num_classes) if number not in classes]
    table = np.arange(num_classes)
    table[others] = [classes[place % len(classes)] for place in range(len(others))]
    return np.asarray(table[labels])


def _aim(classes: tuple[int, ...]) -> Attack:
    def poison(dataset: Dataset, rows: Rows, rng: np.random.Generator) -> Rows:
        return Rows(rows.x, relabel(rows.y, classes, dataset.num_classes))

    def probe(dataset: Dataset) -> Rows | None:
        hit = ~np.isin(dataset.test_y, classes)
        wanted = relabel(dataset.test_y[hit], classes, dataset.num_classes)
        return Rows(dataset.test_x[hit], wanted) if hit.any() else None

    return Attack("baseline-capture", PAPER, poison=poison, probe=probe)


def baseline_capture() -> Attack:
    """ASR: the share of test rows of the other classes that are taken for what the attackers taught.

    Root data that hold all classes can judge all of them: then nothing is poisoned, and there is no ASR.
    """
    return Attack("baseline-capture", PAPER, aim=_aim)
