"""One currency for every finding: the logarithm of an e-value.

An e-value is a non-negative number whose mean is at most 1 where the provider is honest (Vovk, Wang 2021), so that
e ≥ 1/α happens to an honest one with a chance of at most α (Markov). Findings of independent noise are multiplied,
so that their logarithms add up. Findings of consecutive epochs are nearly the same finding, so that they are averaged
before they are judged: a mean of equal deviations deviates by no more than one of them, however they depend.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from martfl.arrays import Floats

REACH = 2.0  # by how many deviations a bad provider is expected to fall short; half-normal, so mostly less
HIDDEN = 0.5  # share of the bad ones in whom the finding does not show at all
MOST = 6.0  # no finding counts more: its noise model is itself wrong now and then


def log_e(deviations: ArrayLike) -> Floats:
    """The evidence of standard-normal deviations, of which low ones speak against a provider.

    Against N(0, 1) stands N(−μ, 1) with μ half-normal of scale g:
    e = 2/√(1+g²) · exp(t²/2) · Φ(−t),  t = g·z/√(1+g²).
    The bad ones in whom nothing shows have e = 1, so that no finding acquits anybody for more than log HIDDEN.
    """
    root = math.sqrt(1.0 + REACH**2)
    t = REACH * np.asarray(deviations, dtype=np.float64) / root
    shown = math.log(2.0 / root) + t**2 / 2 + log_ndtr(-t)
    mixed = np.logaddexp(math.log(1.0 - HIDDEN) + shown, math.log(HIDDEN))
    return np.asarray(np.minimum(mixed, MOST))


def posterior(evidence: ArrayLike, odds: float) -> Floats:
    """The chance that a provider is honest, from prior odds of being bad: 1 / (1 + odds·e)."""
    return np.asarray(1.0 / (1.0 + odds * np.exp(np.minimum(np.asarray(evidence, dtype=np.float64), 50.0))))


def against_rival(evidence: float, rival: float, odds: float) -> float:
    """The evidence for one of two charges of which at most one is true: e / (1 + odds·e')."""
    return evidence - math.log1p(odds * math.exp(min(rival, 50.0)))
