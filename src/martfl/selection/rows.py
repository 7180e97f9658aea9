"""Two models compared row by row."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from martfl.selection.kmeans import Floats


def sureness(logits: ArrayLike, truth: ArrayLike) -> Floats:
    """How sure models are of the true class of every row [k, r]: the root of its probability; 0 where it is no number.

    Being right would count a row only where the best class changes, and two kinds' models seldom differ so. Of the
    probability itself the rows that are all but sure say most, of its logarithm those that are all but lost.
    """
    with np.errstate(invalid="ignore"):  # what is no number yet
        chances = softmax(np.asarray(logits, dtype=np.float64), axis=-1)  # [k, r, classes]
    labels = np.asarray(truth)
    return np.asarray(np.sqrt(np.nan_to_num(chances[:, np.arange(labels.size), labels])))


def rows_ahead(values: ArrayLike, others: ArrayLike) -> float:
    """By how many deviations one model's values lie above another's, row by row.

    Between equals every row's sign is chance, so that a sum of gains deviates by the root of their squares' sum; of
    models that are right (1) or wrong (0) this is McNemar's test (1947).
    """
    gains = np.asarray(values, dtype=np.float64) - np.asarray(others, dtype=np.float64)
    deviation = math.sqrt(float((gains**2).sum()))
    return float(gains.sum()) / deviation if deviation else 0.0
