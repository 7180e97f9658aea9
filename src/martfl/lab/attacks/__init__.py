"""Attacks: one small file each, found by name; `register_attack` adds one of the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from martfl.errors import InputError
from martfl.lab.attacks.adaptive import adaptive
from martfl.lab.attacks.alie import alie
from martfl.lab.attacks.backdoor import backdoor, masked_backdoor, quiet_backdoor
from martfl.lab.attacks.bad_labels import bad_labels
from martfl.lab.attacks.base import Attack, CraftView, Rows
from martfl.lab.attacks.baseline_capture import baseline_capture
from martfl.lab.attacks.framing import framing
from martfl.lab.attacks.free_rider import free_rider
from martfl.lab.attacks.label_flipping import label_flipping
from martfl.lab.attacks.min_max import min_max
from martfl.lab.attacks.noisy_sybil import noisy_sybil
from martfl.lab.attacks.poisonedfl import poisonedfl
from martfl.lab.attacks.rescaling import rescaling
from martfl.lab.attacks.sign_randomizing import sign_randomizing
from martfl.lab.attacks.sleeper import sleeper
from martfl.lab.attacks.staged import staged
from martfl.lab.attacks.sybil import sybil
from martfl.lab.attacks.unheard import unheard_backdoor

__all__ = ["ATTACKS", "Attack", "CraftView", "Rows", "make_attack", "register_attack"]

ATTACKS: dict[str, Callable[..., Attack]] = {
    "none": lambda: Attack("none", ""),
    "sign-randomizing": sign_randomizing,
    "free-rider": free_rider,
    "label-flipping": label_flipping,
    "backdoor": backdoor,
    "sybil": sybil,
    "rescaling": rescaling,
    "min-max": min_max,
    "alie": alie,
    "poisonedfl": poisonedfl,
    "baseline-capture": baseline_capture,
    "noisy-sybil": noisy_sybil,
    "quiet-backdoor": quiet_backdoor,
    "masked-backdoor": masked_backdoor,
    "bad-labels": bad_labels,
    "framing": framing,
    "adaptive": adaptive,
    "staged": staged,
    "sleeper": sleeper,
    "unheard-backdoor": unheard_backdoor,
}


def register_attack(*, name: str, make: Callable[..., Attack]) -> None:
    """Add an attack: `make` takes its parameters as keywords and returns an `Attack`."""
    ATTACKS[name] = make


def make_attack(name: str, **params: Any) -> Attack:
    """The attack of that name; a parameter it does not have is refused with the list of those it has."""
    if name not in ATTACKS:
        raise InputError(f"unknown attack {name!r}: choose one of {', '.join(sorted(ATTACKS))}")
    known = sorted(inspect.signature(ATTACKS[name]).parameters)
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise InputError(
            f"attack {name!r} has no parameter {', '.join(unknown)}: it takes {', '.join(known) or 'none'}"
        )
    return ATTACKS[name](**params)
