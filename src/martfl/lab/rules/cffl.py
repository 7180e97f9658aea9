"""CFFL: reputation from accuracy on the server's own data (Lyu, Xu, Wang, Yu, Federated Learning, 2020).

The original removes a participant for good. With the coefficient of 1 that martFL's evaluation states, that would
leave a single provider before long, and the reported cost of 100 % shows that everybody goes on being evaluated: so
whoever is below the threshold here sits out that round only, unless ``permanent`` is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.reputation import above_threshold, positive_shares
from martfl.lab.rules.shared import everyone, finite_rows, mix, nothing, shares, to_numpy

PAPER = "Lyu, Xu, Wang, Yu, Collaborative Fairness in Federated Learning, in: Federated Learning, Springer 2020"


@dataclass(frozen=True)
class Repute:
    """Reputations after the last round, and who is still in."""

    reputation: np.ndarray  # [n], sums to 1
    members: np.ndarray  # [n] bool


def root_accuracy(view: RoundView) -> np.ndarray:
    """[n] accuracy of every provider's model on the acquirer's root data; 0 for a broken update."""
    hits = view.judge.predict(view.model + view.updates) == view.judge.labels  # [n, r]
    return np.where(finite_rows(view.updates), to_numpy(hits.double().mean(dim=1)), 0.0)


def faded(previous: np.ndarray | None, accuracy: np.ndarray, alpha: float) -> np.ndarray:
    """c_i = ½·c_i + ½·sinh(α·a_i) / Σ_j sinh(α·a_j) with a_i = acc_i / Σ_j acc_j; the first round has no past."""
    current = positive_shares(np.sinh(alpha * positive_shares(accuracy)))
    return current if previous is None else positive_shares(0.5 * previous + 0.5 * current)


def step(
    state: Repute | None, view: RoundView, *, alpha: float, threshold: float, permanent: bool
) -> tuple[Repute, Decision]:
    """Buy everyone, evaluate, then average by data size those with c_i ≥ threshold / |R|."""
    bought = everyone(view)
    members = state.members if state is not None else bought
    accuracy = root_accuracy(view) * members  # whoever was removed for good takes no share
    reputation = faded(None if state is None else state.reputation, accuracy, alpha)
    kept = above_threshold(reputation, threshold, members) & finite_rows(view.updates)
    weights = shares(to_numpy(view.sizes) * kept)
    after = Repute(positive_shares(reputation * kept), kept) if permanent else Repute(reputation, bought)
    return after, Decision(mix(view.updates, weights), weights, bought)


def cffl(*, alpha: float = 5.0, threshold: float = 1.0, permanent: bool = False) -> Rule:
    """Keep the providers whose models do at least as well on the root data as the average one."""
    if alpha <= 0 or threshold < 0:
        raise InputError(f"cffl needs alpha > 0 and threshold ≥ 0, got alpha={alpha}, threshold={threshold}")
    bound = partial(step, alpha=alpha, threshold=threshold, permanent=permanent)
    return Rule("cffl", PAPER, server_driven=True, init=nothing, step=bound)
