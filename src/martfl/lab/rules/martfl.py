"""martFL: clusters of scores against a baseline that moves to the best provider (Li, Liu, Li, Xu, ACM CCS 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, Judge, RoundView, Rule
from martfl.lab.rules.shared import cosines, finite_rows, mix, norms, nothing
from martfl.selection import RULES as SELECTIONS
from martfl.selection import choose_baseline, cohen_kappa, select

PAPER = "Li, Liu, Li, Xu, martFL: Enabling Utility-Driven Data Marketplace with a Robust and Verifiable FL, CCS 2023"
BASELINE_DATA = ("root", "test")


@dataclass(frozen=True)
class Options:
    """Algorithm 1's parameters, and which data choose the baseline."""

    threshold: float  # T
    candidate_share: float  # β
    max_clusters: int  # G
    adjust: bool  # α
    selection: str
    baseline_data: str


def baseline_of(provider: int | None, view: RoundView, sound: np.ndarray) -> int | None:
    """The baseline provider, if its update can judge anybody; else ``None``, the acquirer itself."""
    if provider is None or not sound[provider] or norms(view.updates[provider][None])[0] == 0:
        return None
    return provider


def judge_of(view: RoundView, options: Options) -> Judge:
    """The root data's judge; the test data's only where it was asked for by name."""
    if options.baseline_data == "root":
        return view.judge
    if view.test_judge is None:
        raise InputError("baseline_data='test' needs a judge over test data, and this run gives none")
    return view.test_judge


def next_baseline(view: RoundView, bought: np.ndarray, options: Options) -> int | None:
    """The bought provider whose model has the best Cohen's kappa: p^{t+1} of Algorithm 1."""
    judge, rows = judge_of(view, options), np.flatnonzero(bought)
    if not options.adjust or rows.size == 0:
        return None
    models = view.model + view.updates[torch.as_tensor(rows, device=view.updates.device)]  # [k, m]
    predicted, truth = judge.predict(models).cpu().numpy(), judge.labels.cpu().numpy()
    kappas = {int(row): cohen_kappa(guess, truth) for row, guess in zip(rows, predicted, strict=True)}
    return choose_baseline(kappas, kappas.__getitem__)


def step(state: int | None, view: RoundView, *, options: Options) -> tuple[int | None, Decision]:
    """One epoch; the state is the baseline provider. A broken update is neither scored nor bought."""
    sound = finite_rows(view.updates)
    provider = baseline_of(state, view, sound)
    baseline = view.own_update if provider is None else view.updates[provider]
    rows = np.flatnonzero(sound)
    weights, bought, note = np.zeros(sound.size), np.zeros(sound.size, dtype=bool), "no update is finite"
    if rows.size:
        chosen = select(
            cosines(view.updates, baseline)[rows],
            rule=options.selection,
            baseline=None if provider is None else int(np.searchsorted(rows, provider)),
            threshold=options.threshold,
            candidate_share=options.candidate_share,
            max_clusters=options.max_clusters,
            rng=view.rng,
        )
        weights[rows], note = chosen.weights, f"{chosen.distribution.value}; baseline {provider}"
        bought[rows[list(chosen.bought)]] = True
    decision = Decision(mix(view.updates, weights), weights, bought, baseline=baseline, baselines=1, note=note)
    return next_baseline(view, bought, options), decision


def martfl(
    *,
    threshold: float = 0.05,
    candidate_share: float = 0.1,
    max_clusters: int = 4,
    adjust: bool = True,
    selection: str = "martfl",
    baseline_data: str = "root",
) -> Rule:
    """Algorithm 1. ``baseline_data="test"`` chooses the baseline on test data: only to explain published figures."""
    if baseline_data not in BASELINE_DATA:
        raise InputError(f"unknown baseline_data {baseline_data!r}: choose one of {', '.join(BASELINE_DATA)}")
    if selection not in SELECTIONS:
        raise InputError(f"unknown selection {selection!r}: choose one of {', '.join(sorted(SELECTIONS))}")
    options = Options(threshold, candidate_share, max_clusters, adjust, selection, baseline_data)
    return Rule("martfl", PAPER, server_driven=True, init=nothing, step=partial(step, options=options))
