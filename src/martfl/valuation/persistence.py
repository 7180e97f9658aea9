"""What sets a seller apart stays, since its rows stay. Who takes it out of its update has it counted again.

    g_i = d_i / a_i = s + x_i         an update per unit of the signal, and its noise: |x_i|² = 1 / information_i
    b_i = σ_i·s' + y_i                the mean of those that it sold before, and their noise
    β_i = x_i·y_i / |y_i|²            how much of that noise is there today; β is the usual one

Noise turns, and grows beside the signal, while a model is trained: for all sellers alike. A seller knows its past
updates and the public steps, and so y_i. What β_i is short of β was taken out: x_i + AGAIN·(β − β_i)·y_i counts
instead of x_i, and x_i + (β − β_i)·y_i is remembered. The others have nothing of y_i, so that x_i·y_i is what g_i·b_i
is above the usual g_j·b_i.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.valuation.common import SURE, Common, median

WEAK = 0.05  # loading below which there is no signal to measure by
FEW = 4  # sellers that were there before; fewer show nothing
SHORT, AGAIN = 0.9, 2.0  # of the usual β, below which something was taken out; and how many times that counts
SLACK = 1.5  # times the usual part of noise that is new: batches that do not divide a seller's rows make as much
LEAST = 0.05  # part of noise that is new; smaller ones are not told apart
TINY = 1e-6


@dataclass(frozen=True)
class Trace:
    """The mean of what a seller sold, per unit of the signal."""

    mean: NDArray[np.float32]  # [d] b_i, of sketches beyond the public step
    noise: float  # |y_i|²


@dataclass(frozen=True)
class Stay:
    """What stays of k sellers' noises."""

    units: Floats  # [k, d] g_i
    noise: Floats  # [k] |x_i|²
    means: Floats  # [k, d] b_i, 0 for who is new
    past: Floats  # [k] |y_i|², 0 for who is new
    shared: Floats  # [k] x_i·y_i
    taken: Floats  # [k] β − β_i where something was taken out, else 0
    fresh: Floats  # [k] the usual part of noise that is new over its own, at most 1

    def with_taken(self, times: float) -> Floats:
        """[k] |x_i + times·taken_i·y_i|²."""
        taken = times * self.taken
        return np.asarray(self.noise + 2.0 * taken * self.shared + taken**2 * self.past)

    def hold_back(self, information: Floats) -> Floats:
        """[k] the information, less where something was taken out."""
        counted = 1.0 / np.maximum(self.with_taken(AGAIN), TINY)
        return np.where(self.taken > 0, np.minimum(information, counted), information)


def find_stay(directions: Floats, common: Common, traces: Sequence[Trace | None]) -> Stay:
    """Today's directions [k, d] beside what the sellers sold before."""
    loadings = np.clip(common.loadings, WEAK, SURE)
    units, noise = directions / loadings[:, None], 1.0 / loadings**2 - 1.0
    means, past = np.zeros_like(units), np.zeros(len(units))
    for i, trace in enumerate(traces):
        if trace is not None and trace.mean.shape == units.shape[1:] and len(units) > 1:
            means[i], past[i] = trace.mean, trace.noise
    found = units @ means.T  # [k, k] g_j·b_i
    shared = np.diag(found) - _usual_of_others(found, loadings * common.alone)
    votes = common.alone * common.tied
    return Stay(units, noise, means, past, shared, _taken(shared, past, votes), _fresh(noise, past, shared, votes))


def _usual_of_others(found: Floats, counted: Floats) -> Floats:
    """[k] the median of each column without its diagonal, rows by what they count [k]."""
    weights = np.where(np.eye(len(counted)) > 0, 0.0, counted[:, None])
    order = np.argsort(found, axis=0, kind="stable")
    reached = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
    middle = np.argmax(reached >= reached[-1] / 2, axis=0)
    return np.asarray(np.take_along_axis(np.take_along_axis(found, order, axis=0), middle[None], axis=0)[0])


def _taken(shared: Floats, past: Floats, votes: Floats) -> Floats:
    """[k] SHORT·β − β_i where that is above 0; nothing for who is new."""
    known = past > 0
    if known.sum() < FEW:
        return np.zeros_like(past)
    left = shared / np.where(known, past, 1.0)
    usual = max(median(left[known], votes[known]), 0.0)
    return np.where(known & (usual > 0), np.clip(SHORT * usual - left, 0.0, None), 0.0)


def _fresh(noise: Floats, past: Floats, shared: Floats, votes: Floats) -> Floats:
    """[k] SLACK · usual / own part of noise that is new, at most 1. All noise of who is new is."""
    known = past > 0
    if known.sum() < FEW:
        return np.ones_like(past)
    kept = np.where(known, shared / np.sqrt(np.where(known, noise * past, 1.0)), 0.0)
    own = np.clip(1.0 - kept, LEAST, 2.0)
    return np.asarray(np.minimum(1.0, SLACK * median(own[known], votes[known]) / own))


def remember(stay: Stay, rates: Floats) -> list[Trace]:
    """[k] traces after the epoch, whose part of each mean is `rates` [k]: 1 for who is new."""
    old, taken = 1.0 - rates, stay.taken
    means = (old + rates * taken)[:, None] * stay.means + rates[:, None] * stay.units
    shared = stay.shared + taken * stay.past
    noises = old**2 * stay.past + rates**2 * stay.with_taken(1.0) + 2.0 * rates * old * shared
    sold = means.astype(np.float32)
    return [Trace(mean, max(noise, TINY)) for mean, noise in zip(sold, noises.tolist(), strict=True)]
