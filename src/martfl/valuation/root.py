"""What the root rows say of each update; they can take away from what the geometry found, and never add to it.

A seller that knows the root data's classes can make its update look good on them. It cannot make the others' updates
resemble its own. So the root rows' word counts as far as it is sure, and only against a seller.
"""

from dataclasses import dataclass

import numpy as np

from martfl.arrays import Floats
from martfl.valuation.common import TINY, UNKNOWN, Common, median

LOW = 0.05  # loadings below this are as good as none


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


@dataclass(frozen=True)
class HeldBack:
    """Loadings by geometry and root rows together."""

    loadings: Floats  # [k] never above the geometry's
    error: float  # relative error of the information, never above the geometry's


def held_back(common: Common, gains: Floats) -> HeldBack:
    """The mean of geometry and root rows, each by its precision, where that is below the geometry's.

    Two measurements of a loading with variances g and r have together the variance 1 / (1/g + 1/r). An error of a
    loading is one of the information, a² / (1 − a²), by its slope: error = 2·deviation / (a·(1 − a²)).
    """
    rows = read_rows(common, gains)
    if not rows.gain > 0:
        return HeldBack(common.loadings, common.error)
    a = common.loadings
    geometry, by_rows = (a * common.error / 2 * (1.0 - a**2)) ** 2, rows.error**2
    mean = (a * by_rows + gains.mean(axis=1) / rows.gain * geometry) / np.maximum(by_rows + geometry, TINY)
    held = np.clip(np.minimum(a, mean), 0.0, None)
    usual = max(median(held, common.alone), LOW)
    slope = 2.0 / (usual * (1.0 - usual**2))
    both = 1.0 / (1.0 / max((common.error / slope) ** 2, TINY) + 1.0 / max(by_rows, TINY))
    told = common.error < UNKNOWN  # by geometry; rows alone only hold back
    return HeldBack(held, min(common.error, slope * float(np.sqrt(both))) if told else UNKNOWN)
