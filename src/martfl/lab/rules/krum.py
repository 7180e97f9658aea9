"""Krum and Multi-Krum: the updates nearest to their neighbours (Blanchard et al., NeurIPS 2017)."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.shared import (
    centred_gram,
    check_share,
    count_of,
    everyone,
    finite_rows,
    mix,
    nothing,
    shares,
    to_numpy,
)

PAPER = "Blanchard et al., Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent, NeurIPS 2017"


def squared_distances(updates: Tensor) -> np.ndarray:
    """[n, n] ‖u_i − u_j‖² = G_ii + G_jj − 2·G_ij; infinite where an update is not finite."""
    sound = finite_rows(updates)
    rows = updates if sound.all() else torch.nan_to_num(updates, posinf=0.0, neginf=0.0)
    inner = to_numpy(centred_gram(rows))
    lengths = np.diag(inner)
    distances = np.maximum(lengths[:, None] + lengths[None, :] - 2.0 * inner, 0.0)
    return np.where(sound[:, None] & sound[None, :], distances, np.inf)


def krum_scores(updates: Tensor, neighbours: int) -> np.ndarray:
    """[n] the sum of the squared distances to the nearest neighbours: low is good."""
    distances = squared_distances(updates)
    np.fill_diagonal(distances, np.inf)  # nobody is its own neighbour
    return np.asarray(np.sort(distances, axis=1)[:, :neighbours].sum(axis=1))


def check(providers: int, *, byzantine: float, beyond_bound: bool) -> None:
    """Krum's guarantee needs 2f + 2 < n; its arithmetic needs at least one neighbour, n − f − 2 ≥ 1."""
    f = count_of(byzantine, providers)
    if not beyond_bound and 2 * f + 2 >= providers:
        raise InputError(f"Krum needs 2f + 2 < n, got f = {f} ({byzantine:g} of the providers) and n = {providers}")
    if providers - f - 2 < 1:
        raise InputError(f"Krum needs at least one neighbour, n − f − 2 ≥ 1, got f = {f} and n = {providers}")


def step(
    state: None, view: RoundView, *, byzantine: float, beyond_bound: bool, single: bool, neighbours: int | None
) -> tuple[None, Decision]:
    """Average the 1 (Krum) or n − f (Multi-Krum) updates of lowest score, unweighted."""
    n = view.updates.shape[0]
    check(n, byzantine=byzantine, beyond_bound=beyond_bound)
    f = count_of(byzantine, n)
    scores = krum_scores(view.updates, neighbours or n - f - 2)
    order = np.argsort(scores, kind="stable")[: 1 if single else n - f]
    chosen = np.isin(np.arange(n), order) & finite_rows(view.updates)
    weights = shares(chosen.astype(np.float64))
    return state, Decision(mix(view.updates, weights), weights, everyone(view))


def _rule(name: str, byzantine: float, beyond_bound: bool, neighbours: int | None) -> Rule:
    check_share("byzantine", byzantine)
    if neighbours is not None and neighbours < 1:
        raise InputError(f"neighbours must be at least 1, got {neighbours}")
    checked = partial(check, byzantine=byzantine, beyond_bound=beyond_bound)
    bound = partial(step, byzantine=byzantine, beyond_bound=beyond_bound, single=name == "krum", neighbours=neighbours)
    return Rule(name, PAPER, server_driven=False, init=nothing, step=bound, check=checked)


def krum(*, byzantine: float = 0.2, beyond_bound: bool = False, neighbours: int | None = None) -> Rule:
    """The one update nearest to its n − f − 2 nearest neighbours; ``byzantine`` is f as a share of n.

    ``beyond_bound`` allows an f for which Krum promises nothing: only to repeat published experiments that did.
    """
    return _rule("krum", byzantine, beyond_bound, neighbours)


def multi_krum(*, byzantine: float = 0.2, beyond_bound: bool = False, neighbours: int | None = None) -> Rule:
    """The mean of the n − f updates of lowest Krum score: what martFL's evaluation calls Krum."""
    return _rule("multi-krum", byzantine, beyond_bound, neighbours)
