"""FedAvg: the mean of the updates, weighted by data size (McMahan et al., AISTATS 2017)."""

from __future__ import annotations

from functools import partial

import numpy as np

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.shared import count_of, everyone, mix, nothing, shares, to_numpy

PAPER = "McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017"


def step(state: None, view: RoundView, *, share: float) -> tuple[None, Decision]:
    """w_i = |D_i| / Σ_j |D_j| over those drawn; their updates are bought."""
    drawn = everyone(view)
    if share < 1.0:
        n = drawn.size
        drawn = np.isin(np.arange(n), view.rng.choice(n, size=max(1, count_of(share, n)), replace=False))
    weights = shares(to_numpy(view.sizes) * drawn)
    return state, Decision(mix(view.updates, weights), weights, drawn)


def fedavg(*, share: float = 1.0) -> Rule:
    """Average everyone by data size, or in every round a `share` drawn at random: no defence at all."""
    if not 0.0 < share <= 1.0:
        raise InputError(f"fedavg needs 0 < share ≤ 1, got {share}")
    return Rule("fedavg", PAPER, server_driven=False, init=nothing, step=partial(step, share=share))
