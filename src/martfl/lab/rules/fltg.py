"""FLTG: angles to a reference that changes every round (Wen, Ai, Liu, Li, Wei, 2025).

In the first round there is no last global step to choose the reference by; the acquirer's own update stands for it.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.shared import cosines, finite_rows, mix, norms, nothing, shares

PAPER = "Wen et al., FLTG: Robust Federated Learning via Angle-Based Defense and Non-IID-Aware Weighting, 2025"


def reference_of(updates: Tensor, kept: np.ndarray, last: Tensor) -> int:
    """The kept provider that points least where the model went last."""
    return int(np.argmin(np.where(kept, cosines(updates, last), np.inf)))


def angle_weights(updates: Tensor, kept: np.ndarray, reference: int) -> np.ndarray:
    """[n] 1 − cos(u_i, u_ref) as shares among the kept: the farther from the reference, the more."""
    apart = np.where(kept, 1.0 - cosines(updates, updates[reference]), 0.0)
    apart[reference] = 0.0  # exactly, not up to rounding
    # where all agree with the reference, all count alike
    return shares(apart if apart.max() > 1e-12 else kept.astype(np.float64))


def step(state: Tensor | None, view: RoundView) -> tuple[Tensor | None, Decision]:
    """Drop who points away from the acquirer's own update u_0, weigh the others by their angle to the reference.

    update = Σ w_i · (‖u_0‖ / ‖u_i‖) · u_i;  the reference is the kept provider of the smallest cos(u_i, last step)
    """
    kept = finite_rows(view.updates)
    kept &= np.where(kept, cosines(view.updates, view.own_update), 0.0) > 0
    if not kept.any():
        weights = np.zeros(kept.size)
        note = "nobody is trusted: the model stays as it is"
        return state, Decision(mix(view.updates, weights), weights, kept, view.own_update, 1, note)
    last = view.own_update if state is None else state
    reference = reference_of(view.updates, kept, last)
    weights = angle_weights(view.updates, kept, reference)
    scale = norms(view.own_update[None])[0] / np.where(kept, norms(view.updates), 1.0)
    update = mix(view.updates, weights * scale)
    baselines = 2 if state is None else 3  # own update, last step, reference
    decision = Decision(update, weights, kept, view.own_update, baselines, f"reference {reference}")
    return update if bool(update.any()) else state, decision


def fltg() -> Rule:
    """Trust whoever moves roughly as the root data do, and those most who move unlike the reference."""
    return Rule("fltg", PAPER, server_driven=True, init=nothing, step=step)
