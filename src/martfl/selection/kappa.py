"""Cohen's kappa on the root data, and the choice of the next baseline by it (paper, BaselineAdjustment)."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from martfl.errors import InputError


def cohen_kappa(predicted: ArrayLike, truth: ArrayLike) -> float:
    """Agreement beyond chance, κ = (p_o − p_e) / (1 − p_e); 0 where chance alone explains everything (p_e = 1).

    Examples:
        >>> cohen_kappa([0, 0, 1, 1], [0, 0, 1, 0])
        0.5
    """
    predicted, truth = _labels(predicted, truth)
    classes, codes = np.unique(np.concatenate([predicted, truth]), return_inverse=True)
    shares = np.stack([np.bincount(part, minlength=classes.size) for part in np.split(codes, 2)]) / truth.size
    observed = float(np.mean(predicted == truth))
    chance = float(np.sum(shares[0] * shares[1]))
    return 0.0 if chance >= 1.0 else (observed - chance) / (1.0 - chance)


def choose_baseline(bought: Iterable[int], kappa_of: Callable[[int], float], *, adjust: bool = True) -> int | None:
    """The bought provider of the highest kappa on the root data, the first of equals; it is the next epoch's baseline.

    `None` stands for the acquirer itself (provider 0 of the paper): when nobody was bought, or with `adjust` (α) off.

    Examples:
        >>> choose_baseline([4, 7], {4: 0.2, 7: 0.6}.__getitem__)
        7
        >>> choose_baseline([], float) is None
        True
    """
    best, highest = None, -np.inf
    for provider in bought if adjust else ():
        kappa = kappa_of(provider)
        if np.isnan(kappa):
            raise InputError(f"kappa of provider {provider} is not a number")
        if kappa > highest:
            best, highest = provider, kappa
    return best


def _labels(predicted: ArrayLike, truth: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    predicted, truth = np.asarray(predicted), np.asarray(truth)
    if predicted.shape != truth.shape or truth.ndim != 1 or truth.size == 0:
        raise InputError(f"kappa needs two equally long label vectors, got shapes {predicted.shape} and {truth.shape}")
    return predicted, truth
