"""Norm-clipped averaging: nobody moves the model farther than a bound (Sun et al., 2019)."""

from __future__ import annotations

from functools import partial

import numpy as np

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.shared import everyone, mix, norms, nothing, shares

PAPER = "Sun, Kairouz, Suresh, McMahan, Can You Really Backdoor Federated Learning?, 2019"


def clip_factors(lengths: np.ndarray, bound: float) -> np.ndarray:
    """[n] min(1, M / ‖u_i‖); 0 for an update that is not finite."""
    sound = np.isfinite(lengths)
    safe = np.where(sound & (lengths > 0), lengths, 1.0)
    return np.where(sound, np.minimum(1.0, bound / safe), 0.0)


def step(state: None, view: RoundView, *, bound: float | None) -> tuple[None, Decision]:
    """Σ min(1, M / ‖u_i‖)·u_i / n, with M the median length where no bound is given."""
    lengths = norms(view.updates)
    sound = np.isfinite(lengths)
    limit = bound if bound is not None else float(np.median(lengths[sound])) if sound.any() else 0.0
    factors = clip_factors(lengths, limit)
    update = mix(view.updates, factors / max(1, int(sound.sum())))
    return state, Decision(update, shares(factors), everyone(view))


def norm_clipped(*, bound: float | None = None) -> Rule:
    """The mean of all updates, each cut back to the length `bound`, or to their median length."""
    if bound is not None and not bound > 0:
        raise InputError(f"norm-clipped needs bound > 0, got {bound}")
    return Rule("norm-clipped", PAPER, server_driven=False, init=nothing, step=partial(step, bound=bound))
