"""What each update gives or takes, row by row, where the others' aggregate has brought the model.

At the aggregate's own point the model is moved a little towards each update, and every root row says how much better
it is served. Where the task has logits, every class's mean shift is taken out first: a seller of few classes moves all
rows towards them, which says nothing of its quality, and a well-balanced aggregate undoes it. Classes that the root
data lack are left out of the comparison: the root data cannot judge what they do not hold.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from martfl.arrays import Floats
from martfl.selection.crowd import find_crowd
from martfl.selection.strategy import Buyer, Vector
from martfl.selection.vectors import Matrix, stack

STEP = 0.25  # of the way towards an update
FEW = 20.0  # rows of a class at which it has half of a large class's weight
TINY = 1e-12


@dataclass(frozen=True)
class Gains:
    """The gains of k updates on r rows."""

    rows: Floats  # [k, r] without class shifts, in units of the usual change: what a provider is judged by
    plain: Floats  # [k, r] with them: what the model gains as it is now
    weights: Floats  # [r] of the rows; sum 1
    cover: float  # share of the task's classes that the root data hold
    classes: int  # of the task; 0 where it has none


def models_towards(point: Vector, steps: Matrix, *, length: float = 1.0, less: Vector = 0.0) -> Matrix:
    """[k + 1, m] the point, and from there a part of the way along length·step − less for each of the steps [k, m]."""
    models = stack(steps, above=1)
    models[1:] *= STEP * length
    models[1:] += point - STEP * less
    models[0] = point
    return models


def measure(buyer: Buyer, models: Matrix, strata: NDArray[np.int64] | None, *, centre: bool = True) -> Gains:
    """The gains of models against the first of them, from `models_towards`, on rows of these strata."""
    logits = buyer.logits(models)
    if logits is None or strata is None:
        good = np.asarray(buyer.goodness(models), dtype=np.float64)
        rows = (good[1:] - good[0]) / STEP
        scaled = _scaled(rows, rows)
        return Gains(scaled, scaled, row_weights(strata, good.shape[1]), 1.0, 0)
    held, truth = np.unique(strata, return_inverse=True)
    weights = row_weights(truth, truth.size)
    seen = np.asarray(logits, dtype=np.float64)[:, :, held]
    plain = _class_gains(seen, truth, weights, centre=False)
    rows = _class_gains(seen, truth, weights, centre=True) if centre else plain
    return Gains(rows, plain, weights, held.size / logits.shape[-1], logits.shape[-1])


def _class_gains(logits: Floats, truth: NDArray[np.int64], weights: Floats, *, centre: bool) -> Floats:
    """gain_r = d[r, y_r] − Σ_c p[r, c]·d[r, c] for logit changes d [k, r, c]: the first-order fall of a row's loss."""
    chances = softmax(logits[0], axis=-1)
    change = (logits[1:] - logits[0]) / STEP
    if centre:
        change = change - np.einsum("krc,r->kc", change, weights)[:, None]
    rows = change[:, np.arange(truth.size), truth] - (chances * change).sum(axis=-1)
    return _scaled(rows, change)


def _scaled(rows: Floats, change: Floats) -> Floats:
    usual = math.sqrt(float((change**2).mean())) if change.size else 1.0
    return np.nan_to_num(rows / max(usual, TINY), nan=0.0, posinf=0.0, neginf=0.0)


def row_weights(strata: NDArray[np.int64] | None, rows: int) -> Floats:
    """Rows count so that strata are alike, as far as they hold enough of them: n / (n + FEW) for a stratum of n."""
    if strata is None:
        return np.full(rows, 1.0 / max(rows, 1))
    _, places, counts = np.unique(strata, return_inverse=True, return_counts=True)
    raw = 1.0 / (counts[places] + FEW)
    return np.asarray(raw / raw.sum())


def mean_and_error(rows: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The weighted mean over rows and its standard error [k]; the rows are a sample."""
    mean = (rows * weights).sum(axis=-1)
    error = np.sqrt((((rows - mean[..., None]) * weights) ** 2).sum(axis=-1))
    return mean, np.maximum(error, TINY)


def unlike_strata(rows: Floats, weights: Floats, strata: NDArray[np.int64] | None) -> Floats:
    """[k] the deviation of a mean gain where strata are served unlike, in deviations of single rows; at least 1.

    Who has few classes serves some strata much better than others. Then a mean over rows is a mean over few strata, and
    honest ones differ by more than their rows' noise.
    """
    mean, error = mean_and_error(rows, weights)
    if strata is None:
        return np.ones_like(mean)
    member = strata[:, None] == np.unique(strata)
    parts = ((rows - mean[..., None]) * weights) @ member
    return np.asarray(np.maximum(np.sqrt((parts**2).sum(axis=-1)) / error, 1.0))


def gain_now(gains: Gains, *, even: bool) -> Floats:
    """[k] what the model gains from each update as it stands, in deviations of honest ones.

    Class shifts count by half: the aggregate needs no more of what it has too much of, but who brings it may be good.
    Where sellers hold few classes, shifts are usual, and the deviation is as large. Uneven root data do not know how
    often classes occur, so that shifts do not count there at all. And who serves classes that the root data lack serves
    the others less: then nothing can be said.
    """
    if gains.cover < 1.0:
        return np.zeros(len(gains.rows))
    found = [
        mean / error for mean, error in (mean_and_error(rows, gains.weights) for rows in (gains.rows, gains.plain))
    ]
    now = (found[0] + found[1]) / 2 if even else found[0]
    return np.asarray(now / find_crowd(now).spread)


def is_even(strata: NDArray[np.int64] | None, classes: int, least: float) -> bool:
    """Whether no half of the classes dominates the root data: the rarer half holds at least this share of the rows."""
    if strata is None:
        return True
    counts = np.sort(np.unique(strata, return_counts=True)[1])
    counts = np.concatenate([np.zeros(max(0, classes - counts.size), dtype=counts.dtype), counts])
    return counts.size < 2 or bool(counts[: counts.size // 2].sum() >= least * counts.sum())
