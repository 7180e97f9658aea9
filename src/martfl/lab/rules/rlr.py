"""RLR: a robust learning rate per parameter, from the votes of the signs (Ozdayi et al., AAAI 2021).

martFL's evaluation sets θ = 0. Every vote reaches that, so RLR is then FedAvg; a θ above 0 makes it a defence.
"""

from __future__ import annotations

from functools import partial

import torch

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.shared import blocks, everyone, mix, nothing, shares

PAPER = "Ozdayi, Kantarcioglu, Gel, Defending against Backdoors in Federated Learning with Robust Learning Rate, 2021"


def step(state: None, view: RoundView, *, theta: float) -> tuple[None, Decision]:
    """update_j = ± Σ w_i·u_ij, with + where |Σ_i sign(u_ij)| ≥ θ and − elsewhere."""
    weights = shares(view.sizes)
    update = mix(view.updates, weights)
    votes = torch.cat([block.sign().sum(dim=0).abs() for block in blocks(view.updates)])  # [m]
    robust = torch.where(votes >= theta, update, -update)
    return state, Decision(robust, weights, everyone(view))


def rlr(*, theta: float = 0.0) -> Rule:
    """Go backwards along the parameters on which fewer than θ net votes agree."""
    if theta < 0:
        raise InputError(f"theta is a number of votes and must be at least 0, got {theta}")
    return Rule("rlr", PAPER, server_driven=False, init=nothing, step=partial(step, theta=theta))
