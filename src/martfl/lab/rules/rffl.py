"""RFFL: reputation from agreement with the aggregate (Xu, Lyu, arXiv:2011.10464).

As with CFFL, a provider below the threshold sits out the round, unless ``permanent`` asks for the original's removal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.reputation import above_threshold, positive_shares
from martfl.lab.rules.shared import check_share, cosines, everyone, finite_rows, mix, norms, nothing, shares

PAPER = "Xu, Lyu, A Reputation Mechanism Is All You Need: Collaborative Fairness and Adversarial Robustness, 2020"


@dataclass(frozen=True)
class Agreement:
    """Reputations after the last round, and whose updates the next one uses."""

    reputation: np.ndarray  # [n]
    kept: np.ndarray  # [n] bool


def clipping(view: RoundView, gamma: float) -> np.ndarray:
    """[n] min(1, Γ / ‖u_i‖); Γ = 0 leaves the lengths alone."""
    lengths = norms(view.updates)
    if gamma == 0:
        return np.ones_like(lengths)
    return np.asarray(np.minimum(1.0, np.divide(gamma, lengths, out=np.ones_like(lengths), where=lengths > 0)))


def step(
    state: Agreement | None, view: RoundView, *, alpha: float, threshold: float, gamma: float, permanent: bool
) -> tuple[Agreement, Decision]:
    """Aggregate by the reputations so far (by size at first), then r_i = α·r_i + (1 − α)·cos(u_i, aggregate)."""
    sound = finite_rows(view.updates)
    if state is None:
        weights = shares(np.where(sound, shares(view.sizes), 0.0))
    else:
        weights = shares(np.where(sound & state.kept, np.maximum(state.reputation, 0.0), 0.0))
    update = mix(view.updates, weights * clipping(view, gamma))
    members = state.kept if permanent and state is not None else everyone(view)
    agreement = np.where(sound, cosines(view.updates, update), -1.0) * members
    past = np.zeros_like(agreement) if state is None else state.reputation
    reputation = positive_shares(alpha * past + (1.0 - alpha) * agreement)
    kept = above_threshold(reputation, threshold, members)
    after = Agreement(positive_shares(reputation * kept) * kept if permanent else reputation, kept)
    return after, Decision(update, weights, everyone(view))


def rffl(*, alpha: float = 0.95, threshold: float = 1.0, gamma: float = 0.0, permanent: bool = False) -> Rule:
    """Keep the providers that agree with the aggregate at least as much as the average one."""
    check_share("alpha", alpha)
    if threshold < 0 or gamma < 0:
        raise InputError(f"rffl needs threshold ≥ 0 and gamma ≥ 0, got threshold={threshold}, gamma={gamma}")
    bound = partial(step, alpha=alpha, threshold=threshold, gamma=gamma, permanent=permanent)
    return Rule("rffl", PAPER, server_driven=False, init=nothing, step=bound)
