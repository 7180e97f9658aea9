"""Rules by name, with errors that list what is valid."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from martfl.errors import InputError
from martfl.lab.rules.alignins import alignins
from martfl.lab.rules.base import Rule
from martfl.lab.rules.cffl import cffl
from martfl.lab.rules.clipped import norm_clipped
from martfl.lab.rules.dnc import dnc
from martfl.lab.rules.fedavg import fedavg
from martfl.lab.rules.flame import flame
from martfl.lab.rules.fltg import fltg
from martfl.lab.rules.fltrust import fltrust
from martfl.lab.rules.krum import krum, multi_krum
from martfl.lab.rules.martfl import STRATEGY_RULES
from martfl.lab.rules.oracle import oracle
from martfl.lab.rules.order_statistics import median, trimmed_mean
from martfl.lab.rules.rffl import rffl
from martfl.lab.rules.rlr import rlr
from martfl.lab.rules.skymask import skymask

RULES: dict[str, Callable[..., Rule]] = {
    **STRATEGY_RULES,
    "fedavg": fedavg,
    "fltrust": fltrust,
    "fltg": fltg,
    "skymask": skymask,
    "cffl": cffl,
    "rffl": rffl,
    "krum": krum,
    "multi-krum": multi_krum,
    "rlr": rlr,
    "median": median,
    "trimmed-mean": trimmed_mean,
    "norm-clipped": norm_clipped,
    "flame": flame,
    "dnc": dnc,
    "alignins": alignins,
    "oracle": oracle,
}


def make_rule(name: str, **params: Any) -> Rule:
    """The rule of that name; a parameter it does not have is refused with the list of those it has."""
    if name not in RULES:
        raise InputError(f"unknown rule {name!r}: choose one of {', '.join(sorted(RULES))}")
    taken = inspect.signature(RULES[name]).parameters
    known = sorted(key for key, part in taken.items() if part.kind is not part.VAR_KEYWORD)
    unknown = sorted(set(params) - set(known))
    if unknown and len(known) == len(taken):  # a strategy with free options checks them itself
        raise InputError(f"rule {name!r} has no parameter {', '.join(unknown)}: it takes {', '.join(known) or 'none'}")
    return RULES[name](**params)
