"""FLTrust: trust is the clipped cosine with the server's own update (Cao et al., NDSS 2021)."""

from __future__ import annotations

import numpy as np

from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.shared import cosines, finite_rows, mix, norms, nothing, shares

PAPER = "Cao, Fang, Liu, Gong, FLTrust: Byzantine-robust Federated Learning via Trust Bootstrapping, NDSS 2021"


def step(state: None, view: RoundView) -> tuple[None, Decision]:
    """Average the trusted updates, each stretched or shrunk to the length of the acquirer's own.

    TS_i = max(0, cos(u_0, u_i));  update = Σ TS_i · (‖u_0‖ / ‖u_i‖) · u_i / Σ TS_i
    """
    sound = finite_rows(view.updates)
    trust = np.where(sound, np.maximum(cosines(view.updates, view.own_update), 0.0), 0.0)
    weights = shares(trust)
    lengths, own = norms(view.updates), norms(view.own_update[None])[0]
    scale = np.divide(own, lengths, out=np.zeros_like(lengths), where=sound & (lengths > 0))
    update = mix(view.updates, weights * scale)
    note = "" if weights.any() else "nobody is trusted: the model stays as it is"
    return state, Decision(update, weights, weights > 0, baseline=view.own_update, baselines=1, note=note)


def fltrust() -> Rule:
    """Trust whoever moves as the root data do."""
    return Rule("fltrust", PAPER, server_driven=True, init=nothing, step=step)
