"""What the root rows say of each update beside the usual one: a ratio, pooled over epochs, that scales its loading.

Angles rank sellers by their rows well and by their labels badly; the gain on the root rows per unit of length ranks
them by their labels well. It also falls with a long training, by a tenth or two, so that small differences say nothing.
A seller that knows the root data's classes can make its update look good on them, and cannot make the others' resemble
its own. So the rows may take all of a loading away, add only a little, and nothing where they lack or hardly hold
some classes: there a little of the others' gradient would do.
"""

from dataclasses import dataclass

import numpy as np

from martfl.arrays import Floats
from martfl.valuation.common import NORMAL, median

SLACK = 0.2  # of the usual gain: smaller differences come from the length of a training
RAISE = 0.2  # most that the rows add to a loading
MEDIAN = 1.2533  # deviation of a median over that of a mean
FAR = 3.0  # usual gains that one epoch may put an update away from the usual one


@dataclass(frozen=True)
class RootRows:
    """The rows' word of one epoch."""

    ratios: Floats  # [k] gain beyond the public step, 1 for the usual one
    weight: float  # of the epoch; 0 where the usual update gains nothing


def read_rows(gains: Floats, novel: Floats, alone: Floats, *, floor: float, even: bool) -> RootRows:
    """From gains by row [k, r], whole and beyond the public step; medians, so that one that gains much moves nobody.

    ratio_i = 1 + (novel_i − median novel) / median gain, weight = 1 / (error² + floor²)

    Rows that do not stand for all classes alike (not `even`) say nothing for anybody. The error is that of a gain over
    rows, and that of the median over sellers, both beside the median gain.

    Examples:
        >>> gains = np.array([[1.0, 1.2], [1.0, 0.8], [0.2, 0.0]])
        >>> read_rows(gains, gains, np.ones(3), floor=0.3, even=True).ratios.round(2).tolist()
        [1.22, 1.0, 0.11]
    """
    whole, mean = gains.mean(axis=1), novel.mean(axis=1)
    usual = median(whole, alone)
    if not usual > 0:
        return RootRows(np.ones(len(gains)), 0.0)
    away = np.clip((mean - median(mean, alone)) / usual, -FAR, FAR if even else SLACK)
    over_rows = median(novel.std(axis=1) / np.sqrt(novel.shape[1]), alone) / usual
    over_sellers = MEDIAN * NORMAL * median(np.abs(whole - usual), alone) / usual / np.sqrt(alone.sum())
    return RootRows(1.0 + away, 1.0 / (over_rows**2 + over_sellers**2 + floor**2))


def scale(ratios: Floats) -> Floats:
    """What a loading is multiplied by: 1 near the usual ratio, 0 at the least, and never much above 1.

    Examples:
        >>> scale(np.array([-0.5, 0.5, 0.9, 1.1, 1.3, 4.0])).round(2).tolist()
        [0.0, 0.7, 1.0, 1.0, 1.1, 1.2]
    """
    away = ratios - 1.0
    return np.asarray(np.clip(1.0 + np.sign(away) * np.clip(np.abs(away) - SLACK, 0.0, None), 0.0, 1.0 + RAISE))
