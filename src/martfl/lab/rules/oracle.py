"""The oracle: FedAvg (McMahan et al., AISTATS 2017) over the honest providers only, whom no real rule can know."""

from __future__ import annotations

from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.shared import mix, nothing, shares, to_numpy

PAPER = "The bound to compare with: FedAvg over the providers known to be honest"


def step(state: None, view: RoundView) -> tuple[None, Decision]:
    """w_i = |D_i| / Σ_{honest} |D_j| for the honest, 0 for the others; only the honest are bought."""
    honest = to_numpy(view.honest).astype(bool)
    weights = shares(to_numpy(view.sizes) * honest)
    return state, Decision(mix(view.updates, weights), weights, honest)


def oracle(*, acquirer: bool = False) -> Rule:
    """Average the honest providers by data size; with an `acquirer`, the same providers as rules that need one have."""
    return Rule("oracle", PAPER, server_driven=acquirer, init=nothing, step=step, honest_only=True)
