"""What the root rows say of each update; they can take away from what the geometry found, and never add to it.

A seller that knows the root data's classes can make its update look good on them. It cannot make the others' updates
resemble its own. So the root rows' word counts as far as it is sure, and only against a seller.
"""

from dataclasses import dataclass

import numpy as np

from martfl.arrays import Floats
from martfl.valuation.common import TINY, Common, median


@dataclass(frozen=True)
class RootRows:
    """What a perfect direction gains on the root rows, and how surely the rows tell a loading."""

    gain: float  # of the common signal itself; 0 or less where the rows say nothing of it
    error: float  # standard error of a loading by the rows alone


def read_rows(common: Common, gains: Floats) -> RootRows:
    """The median of what sellers gain per loading, so that one that gains much moves nobody; the rest is the error.

    J_ir = a_i·g_r + rest, with g by least squares over the sellers, scaled to the median.
    """
    gain = median(gains.mean(axis=1) / common.loadings, common.alone)
    weights = common.alone * common.loadings
    signal = weights @ gains / max(float(weights @ common.loadings), TINY)  # [r]
    if not (gain > 0 and signal.mean() > 0):
        return RootRows(0.0, np.inf)
    signal = signal * gain / signal.mean()
    rest = (gains - np.outer(common.loadings, signal)).std(axis=1) / np.sqrt(gains.shape[1]) / gain
    return RootRows(gain, float(np.sqrt((common.alone * rest**2).sum() / common.alone.sum())))


def held_back(common: Common, gains: Floats) -> Floats:
    """[k] loadings: the mean of geometry and root rows, each by its precision, where that is below the geometry's."""
    rows = read_rows(common, gains)
    if not rows.gain > 0:
        return common.loadings
    a = common.loadings
    geometry = (a * common.error / 2 * (1.0 - a**2)) ** 2  # an error of information, as one of the loading
    by_rows = gains.mean(axis=1) / rows.gain
    mean = (a * rows.error**2 + by_rows * geometry) / np.maximum(rows.error**2 + geometry, TINY)
    return np.asarray(np.clip(np.minimum(a, mean), 0.0, None))
