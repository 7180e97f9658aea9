"""SkyMask: one learned mask per provider over all parameters, clustered in two (Yan et al., ECCV 2024).

The acquirer trains masks, not models: a parameter of a provider that makes the masked mean worse on the root data is
masked out. Providers whose masks look like the mask of the acquirer's own update are kept. The authors tune the rate to
each network; here it is relative to the first slopes, so that one value serves all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, Judge, RoundView, Rule
from martfl.lab.rules.shared import centred_gram, everyone, finite_rows, mix, nothing, shares, to_numpy

PAPER = "Yan et al., SkyMask: Attack-agnostic Robust Federated Learning with Fine-grained Learnable Masks, ECCV 2024"
PATIENCE = 10  # steps after which the loss must have fallen by LEAST, or the masks are taken as they are
LEAST = 1e-2
EXACT = 1e-9  # of the masks' spread: below it, a difference of coordinates is rounding


def masked_mean(updates: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
    """ū = Σ σ(m_i) ⊙ u_i / Σ σ(m_i), and the denominator [m]; row by row, without a copy of the matrix."""
    total, weight = torch.zeros_like(updates[0]), torch.zeros_like(updates[0])
    for update, mask in zip(updates, masks, strict=True):
        open_share = torch.sigmoid(mask)
        total.addcmul_(open_share, update)
        weight.add_(open_share)
    return total / weight, weight


def root_loss(judge: Judge, model: Tensor) -> tuple[float, Tensor]:
    """The cross-entropy on the root data and its gradient [m]."""
    with torch.enable_grad():
        point = model.detach().clone().requires_grad_()
        loss = F.cross_entropy(judge.logits(point[None])[0], judge.labels)
        (gradient,) = torch.autograd.grad(loss, point)
    return float(loss.detach()), gradient


def slope(update: Tensor, mask: Tensor, mean: Tensor, factor: Tensor) -> Tensor:
    """∂L/∂m_i = ∂L/∂ū ⊙ (u_i − ū) / Σσ ⊙ σ(m_i)(1 − σ(m_i)), with the first factor and Σσ in `factor`."""
    open_share = torch.sigmoid(mask)
    return factor * (update - mean) * open_share * (1 - open_share)


def typical(slopes: Iterable[Tensor]) -> float:
    """The root mean square of the slopes that are not zero."""
    squares = count = 0.0
    for part in slopes:
        squares, count = squares + float(part.double().square().sum()), count + float((part != 0).sum())
    return (squares / count) ** 0.5 if count else 1.0


def learn_masks(updates: Tensor, judge: Judge, model: Tensor, *, steps: int, rate: float) -> Tensor:
    """[k, m] masks before the sigmoid, from all ones; no coordinate moves more than 1 in a step.

    One backward pass a step serves all providers. Stops early where the loss has stopped falling.
    """
    masks, before, unit = torch.ones_like(updates), float("inf"), 0.0
    for index in range(steps):
        mean, weight = masked_mean(updates, masks)
        loss, gradient = root_loss(judge, model + mean)
        if index % PATIENCE == 0:
            if before - loss < LEAST:
                break
            before = loss
        factor = gradient / weight
        unit = unit or typical(slope(update, mask, mean, factor) for update, mask in zip(updates, masks, strict=True))
        for update, mask in zip(updates, masks, strict=True):
            mask.sub_((slope(update, mask, mean, factor) * (rate / unit)).clamp_(-1.0, 1.0))
    return masks


def two_groups(patterns: Tensor, seed: int) -> np.ndarray:
    """[k] 0 or 1: a mixture of two Gaussians over the two principal components of the rows."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    lengths, vectors = np.linalg.eigh(to_numpy(centred_gram(patterns)))
    points = vectors[:, -2:] * np.sqrt(np.maximum(lengths[-2:], 0.0))  # [k, 2]
    if np.ptp(points, axis=0).max() <= EXACT * max(1.0, float(np.sqrt(patterns.shape[1]))):
        return np.zeros(len(patterns), dtype=np.int64)
    with warnings.catch_warnings():  # rows that coincide make a component collapse, which is no harm here
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture = GaussianMixture(n_components=2, n_init=5, random_state=seed)
        return np.asarray(mixture.fit_predict(points))


def step(state: None, view: RoundView, *, steps: int, rate: float, threshold: float) -> tuple[None, Decision]:
    """Average those whose binary mask, σ(m_i) > threshold, falls into the group of the acquirer's own."""
    sound = finite_rows(view.updates)
    rows = torch.cat([view.updates[torch.as_tensor(sound, device=view.updates.device)], view.own_update[None]])
    masks = learn_masks(rows, view.judge, view.model, steps=steps, rate=rate)
    groups = two_groups((torch.sigmoid(masks) > threshold).to(rows.dtype), int(view.rng.integers(2**31)))
    kept = np.zeros(sound.size, dtype=bool)
    kept[sound] = groups[:-1] == groups[-1]
    weights = shares(kept.astype(np.float64))
    note = "" if kept.any() else "nobody looks like the acquirer: the model stays as it is"
    return state, Decision(mix(view.updates, weights), weights, everyone(view), view.own_update, 0, note)


def skymask(*, steps: int = 20, rate: float = 0.02, threshold: float = 0.5) -> Rule:
    """Keep whoever's parameters the root data would mask out as it masks the acquirer's own."""
    if steps < 1 or not rate > 0 or not 0 < threshold < 1:
        raise InputError(f"skymask needs steps ≥ 1, rate > 0 and 0 < threshold < 1, got {steps}, {rate}, {threshold}")
    bound = partial(step, steps=steps, rate=rate, threshold=threshold)
    return Rule("skymask", PAPER, server_driven=True, init=nothing, step=bound)
