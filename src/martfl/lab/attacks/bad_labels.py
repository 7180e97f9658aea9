"""Bad labels: sellers whose data are poor, without any malice."""

from __future__ import annotations

import numpy as np

from martfl.errors import InputError
from martfl.lab.attacks.base import Attack, Rows
from martfl.lab.data import Dataset


def bad_labels(*, share: float = 1.0) -> Attack:
    """A random `share` of a provider's labels is drawn anew, every class with equal chance."""
    if not 0 < share <= 1:
        raise InputError(f"bad-labels needs 0 < share ≤ 1, got {share}")

    def poison(dataset: Dataset, rows: Rows, rng: np.random.Generator) -> Rows:
        hit = rng.permutation(len(rows.y))[: max(1, round(share * len(rows.y)))]
        y = np.array(rows.y)
        y[hit] = rng.integers(0, dataset.num_classes, len(hit))
        return Rows(rows.x, y)

    return Attack("bad-labels", "Natarajan et al., Learning with noisy labels, NeurIPS 2013", poison=poison)
