"""AlignIns: two views of an update's direction, inspected for outliers (Xu, Zhang, Hu, CVPR 2025)."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.clipped import clip_factors
from martfl.lab.rules.shared import cosines, everyone, finite_rows, mix, norms, nothing, shares

PAPER = "Xu, Zhang, Hu, Detecting Backdoor Attacks in Federated Learning via Direction Alignment Inspection, CVPR 2025"


def sign_alignment(updates: Tensor, share: float) -> np.ndarray:
    """[k] of an update's largest `share` of coordinates, how many have the sign that the signs' majority has."""
    votes = torch.zeros_like(updates[0])
    for update in updates:
        votes += update.sign()
    main = votes.sign()
    top = max(1, int(share * updates.shape[1]))
    largest = [torch.topk(update.abs(), top).indices for update in updates]
    return np.array([float((u[at].sign() == main[at]).double().mean()) for u, at in zip(updates, largest, strict=True)])


def deviations(values: np.ndarray) -> np.ndarray:
    """[k] |x − median| / standard deviation; 0 where all are equal."""
    spread = float(values.std())
    return np.abs(values - np.median(values)) / spread if spread > 0 else np.zeros_like(values)


def step(state: None, view: RoundView, *, radius: float, share: float) -> tuple[None, Decision]:
    """Average those within `radius` in both views, clipped to their median length."""
    sound = np.flatnonzero(finite_rows(view.updates))
    rows = view.updates[torch.as_tensor(sound, device=view.updates.device)]
    close = np.ones(sound.size, dtype=bool)
    if sound.size:
        close = (deviations(sign_alignment(rows, share)) <= radius) & (deviations(cosines(rows, view.model)) <= radius)
    kept = np.isin(np.arange(len(view.updates)), sound[close])
    lengths = norms(view.updates)
    bound = float(np.median(lengths[kept])) if kept.any() else 0.0
    factors = np.where(kept, clip_factors(lengths, bound), 0.0)
    update = mix(view.updates, factors / max(1, int(kept.sum())))
    note = "" if kept.any() else "nobody passes both inspections: the model stays as it is"
    return state, Decision(update, shares(factors), everyone(view), note=note)


def alignins(*, radius: float = 1.0, share: float = 0.3) -> Rule:
    """Inspect the cosine with the global model and the signs of the largest coordinates."""
    if not radius > 0 or not 0 < share <= 1:
        raise InputError(f"alignins needs radius > 0 and 0 < share ≤ 1, got {radius} and {share}")
    return Rule("alignins", PAPER, server_driven=False, init=nothing, step=partial(step, radius=radius, share=share))
