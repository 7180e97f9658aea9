"""How far training was from standing still when it ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

PART = 0.1  # of the rounds: the last tenth is held against the one before
Rounds = Sequence[Mapping[str, float | None]]


def late_gain(runs: Iterable[Rounds]) -> float | None:
    """How much accuracy rose in the last tenth of the rounds, mean over the runs that are long enough to tell."""
    gains = []
    for rounds in runs:
        known = [(row.get("round") or 0.0, mta) for row in rounds if (mta := row.get("mta")) is not None]
        end = known[-1][0] if known else 0.0
        last = [mta for number, mta in known if number > (1 - PART) * end]
        before = [mta for number, mta in known if (1 - 2 * PART) * end < number <= (1 - PART) * end]
        if last and before:
            gains.append(fmean(last) - fmean(before))
    return fmean(gains) if gains else None
