"""Ways to pay by name, with errors that list what is valid."""

from __future__ import annotations

from collections.abc import Callable

from martfl.errors import InputError
from martfl.lab.valuers.base import Valuer
from martfl.lab.valuers.games import GtgShapley, LeaveOneOut
from martfl.lab.valuers.ours import ByInformation
from martfl.lab.valuers.simple import Cffl, Cosine, Equal, Rffl, Size

VALUERS: dict[str, Callable[[], Valuer]] = {
    "information": ByInformation,
    "equal": Equal,
    "size": Size,
    "cosine": Cosine,
    "leave-one-out": LeaveOneOut,
    "gtg-shapley": GtgShapley,
    "cffl": Cffl,
    "rffl": Rffl,
}


def make_valuer(name: str) -> Valuer:
    """The way to pay of that name."""
    if name not in VALUERS:
        raise InputError(f"unknown value {name!r}: choose one of {', '.join(VALUERS)}")
    return VALUERS[name]()
