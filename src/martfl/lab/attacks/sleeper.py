"""Sleeper: sellers that are honest for a while, and then hand in a backdoor for a few rounds.

Asleep they hand in what honest ones might, the honest mean and the noise of their own training; awake, what they
trained:

    u_i = h + λ·(a − h) + (t_i − a),   h and a the honest and their own mean, t_i what i trained on stamped rows,

with λ = 0 asleep and λ = `strength` awake. A rule that judges by averages over rounds remembers them as honest.
"""

from __future__ import annotations

import dataclasses

from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks.adaptive import mixed
from martfl.lab.attacks.backdoor import quiet_backdoor
from martfl.lab.attacks.base import Attack, CraftView

PAPER = "an attack on rules that remember"


def sleeper(*, share: float = 0.3, asleep: int = 5, awake: int = 2, strength: float = 1.0) -> Attack:
    """In turns `asleep` rounds honest and `awake` rounds with a backdoor trained on `share` stamped rows."""
    if asleep < 1 or awake < 1 or not strength > 0:
        raise InputError(f"sleeper needs asleep, awake ≥ 1 and strength > 0, got {asleep}, {awake} and {strength}")

    def craft(view: CraftView) -> Tensor:
        if view.honest is None or not len(view.honest):
            return view.updates
        return mixed(view, strength if view.index % (asleep + awake) >= asleep else 0.0)

    plain = quiet_backdoor(share=share)
    return dataclasses.replace(plain, name="sleeper", paper=PAPER, craft=craft)
