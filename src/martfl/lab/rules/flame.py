"""FLAME: cluster directions, clip lengths, add noise (Nguyen et al., USENIX Security 2022)."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.clipped import clip_factors
from martfl.lab.rules.shared import cosine_matrix, everyone, finite_rows, mix, norms, nothing, shares

PAPER = "Nguyen et al., FLAME: Taming Backdoors in Federated Learning, USENIX Security 2022"


def majority(distances: np.ndarray) -> np.ndarray:
    """[k] bool: the cluster that HDBSCAN finds with at least half of all plus one as its smallest size.

    Where it finds none, nobody is known to be an outlier.
    """
    from sklearn.cluster import HDBSCAN

    k = len(distances)
    if k < 3:
        return np.ones(k, dtype=bool)
    found = HDBSCAN(
        min_cluster_size=k // 2 + 1, min_samples=1, allow_single_cluster=True, metric="precomputed", copy=True
    ).fit_predict(distances)
    return np.asarray(found == 0) if (found == 0).any() else np.ones(k, dtype=bool)


def step(state: None, view: RoundView, *, noise: float) -> tuple[None, Decision]:
    """The admitted, clipped to the median length S of all, averaged; then noise of deviation `noise`·S everywhere."""
    sound, lengths = finite_rows(view.updates), norms(view.updates)
    rows = np.flatnonzero(sound)
    kept = np.zeros(sound.size, dtype=bool)
    kept[rows] = majority(np.clip(1.0 - cosine_matrix(view.updates[torch.as_tensor(rows)]), 0.0, 2.0))
    bound = float(np.median(lengths[sound])) if rows.size else 0.0
    factors = np.where(kept, clip_factors(lengths, bound), 0.0)
    update = mix(view.updates, factors / max(1, int(kept.sum())))
    if noise > 0 and rows.size:
        generator = torch.Generator(device=update.device).manual_seed(int(view.rng.integers(2**62)))
        drawn = torch.randn(update.shape, generator=generator, device=update.device).to(update.dtype)
        update = update + noise * bound * drawn
    return state, Decision(update, shares(factors), everyone(view))


def flame(*, noise: float = 1e-3) -> Rule:
    """Keep the majority's direction. `noise` is the paper's λ; 0.001 is its value for images."""
    if not noise >= 0:
        raise InputError(f"flame needs noise ≥ 0, got {noise}")
    return Rule("flame", PAPER, server_driven=False, init=nothing, step=partial(step, noise=noise))
