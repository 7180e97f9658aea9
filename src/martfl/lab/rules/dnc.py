"""Divide-and-Conquer: outliers along the first singular vector of sampled coordinates (NDSS 2021)."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.shared import check_share, count_of, everyone, finite_rows, mix, nothing, shares, to_numpy

PAPER = "Shejwalkar, Houmansadr, Manipulating the Byzantine, NDSS 2021"


def outlier_scores(rows: np.ndarray) -> np.ndarray:
    """[k] ((u_i − ū)·v)² with v the first right singular vector of the centred rows."""
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    # (u_i − ū)·v = σ·a_i for the first left singular vector a
    return np.asarray(np.maximum(values[-1], 0.0) * vectors[:, -1] ** 2)


def step(
    state: None, view: RoundView, *, byzantine: float, factor: float, rounds: int, coordinates: int
) -> tuple[None, Decision]:
    """Average those who are in every round among the n − c·f of lowest score."""
    n, m = view.updates.shape
    sound = np.flatnonzero(finite_rows(view.updates))
    left = max(1, sound.size - int(factor * count_of(byzantine, n)))
    kept = set(sound.tolist())
    for _ in range(rounds):
        columns = np.sort(view.rng.choice(m, size=min(coordinates, m), replace=False))
        part = view.updates[torch.as_tensor(sound, device=view.updates.device)]
        scores = outlier_scores(to_numpy(part[:, torch.as_tensor(columns, device=part.device)]))
        kept &= set(sound[np.argsort(scores, kind="stable")[:left]].tolist())
    weights = shares(np.isin(np.arange(n), list(kept)).astype(np.float64))
    return state, Decision(mix(view.updates, weights), weights, everyone(view))


def dnc(*, byzantine: float = 0.2, factor: float = 1.0, rounds: int = 5, coordinates: int = 10_000) -> Rule:
    """Drop `factor`·f updates of the highest score in each of several random samples of coordinates.

    `byzantine` is f as a share of the providers: the rule must be told how many attackers it has to expect.
    """
    check_share("byzantine", byzantine)
    if not factor > 0 or rounds < 1 or coordinates < 1:
        raise InputError(f"dnc needs factor > 0, rounds and coordinates ≥ 1, got {factor}, {rounds}, {coordinates}")
    bound = partial(step, byzantine=byzantine, factor=factor, rounds=rounds, coordinates=coordinates)
    return Rule("dnc", PAPER, server_driven=False, init=nothing, step=bound)
