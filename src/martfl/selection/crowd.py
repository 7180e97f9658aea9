"""Where honest scores lie, whatever share of the scores is bad: the bad ones are lower.

One crowd of Gaussian scores is described by its median and spread. But bad ones may be many and far away; then the best
cut into two groups explains more than any cut of one crowd would, and the upper group is the honest one.
"""

import math
from dataclasses import dataclass

import numpy as np

from martfl.arrays import Floats

# A cut of k Gaussian scores in two lowers their squared deviations V0 to V1. By simulation of 5 to 29 scores the chance
# that k/2·log(V0/V1) exceeds g is about exp(−SLOPE·(g − k/2 − SHIFT)).
SLOPE, SHIFT = 0.77, 1.6
CERTAIN = math.log(100.0)  # one crowd in a hundred is taken for two
FEWEST = 5  # scores for which a cut can mean anything
ABOVE = 3  # of them that the upper group must have: one that does better than all others makes nobody bad


@dataclass(frozen=True)
class Crowd:
    """The honest scores' middle and spread; the spread is never below the noise of the rows."""

    middle: float
    spread: float
    cut: bool = False  # whether a lower group was found


def find_crowd(scores: Floats, noise: Floats | None = None) -> Crowd:
    """The honest crowd among scores in units of their row noise, or of as much as each one's noise says."""
    noise = np.ones_like(scores) if noise is None else noise
    middle, least = float(np.median(scores)), float(np.median(noise))
    single = Crowd(middle, max(least, 1.4826 * float(np.median(np.abs(scores - middle)))))
    if scores.size < FEWEST:
        return single
    order = np.argsort(scores)
    ordered = scores[order]
    place, within = best_cut(ordered, least=1, above=ABOVE)
    least = float(np.median(noise[order[place:]]))  # of the upper group: the lower one is not honest
    inside = max(within, least**2 * (scores.size - 2))  # the noise alone would leave this much
    gain = scores.size / 2 * math.log(max(float(((ordered - ordered.mean()) ** 2).sum()) / inside, 1.0))
    if SLOPE * (gain - scores.size / 2 - SHIFT) <= CERTAIN:
        return single
    return Crowd(float(ordered[place:].mean()), max(least, math.sqrt(inside / (scores.size - 2))), cut=True)


def best_cut(ordered: Floats, *, least: int, above: int = 0) -> tuple[int, float]:
    """(place, squared deviations left) of the best cut into two groups of `least` or more, the upper of `above`."""
    best, place = math.inf, 0
    for at in range(max(least, 1), ordered.size - max(least, above, 1) + 1):
        low, high = ordered[:at], ordered[at:]
        left = float(((low - low.mean()) ** 2).sum() + ((high - high.mean()) ** 2).sum())
        if left < best:
            best, place = left, at
    return place, best
