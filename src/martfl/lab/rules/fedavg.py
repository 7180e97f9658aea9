"""FedAvg: the mean of the updates, weighted by data size (McMahan et al., AISTATS 2017)."""

from __future__ import annotations

from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.shared import everyone, mix, nothing, shares

PAPER = "McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017"


def step(state: None, view: RoundView) -> tuple[None, Decision]:
    """w_i = |D_i| / Σ_j |D_j|; everyone's update is bought."""
    weights = shares(view.sizes)
    return state, Decision(mix(view.updates, weights), weights, everyone(view))


def fedavg() -> Rule:
    """Average everyone by data size: no defence at all."""
    return Rule("fedavg", PAPER, server_driven=False, init=nothing, step=step)
