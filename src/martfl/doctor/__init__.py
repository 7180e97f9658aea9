"""What a machine needs before it joins or runs a market, looked at one by one; each trouble comes with a remedy."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """One look: what was looked at, what was found and, if it is not well, what to do."""

    what: str
    verdict: Verdict
    found: str
    remedy: str = ""


def well(what: str, found: str) -> Finding:
    """Nothing to do."""
    return Finding(what, "ok", found)


def weigh(good: bool, what: str, found: str, remedy: str, *, otherwise: Verdict = "fail") -> Finding:
    """Well, or else a trouble with its remedy."""
    return well(what, found) if good else Finding(what, otherwise, found, remedy)
