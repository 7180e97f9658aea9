"""What a seller is told of its pay: the numbers, and the same in plain English. They get their words only here."""

import math
from dataclasses import dataclass, fields

import numpy as np

from martfl.valuation.information import NINETY
from martfl.valuation.survey import Valued

CLEAR = 0.5  # how much of the differences must be believed for them to decide the most
MOST_PLACES = 6
ALIKE = 0.05  # of a share: smaller differences are not worth a word


@dataclass(frozen=True, kw_only=True)
class Appraisal:
    """What one update added, and what it is worth among those of its epoch.

    Examples:
        >>> Appraisal(added=0.03, error=0.01, share=0.3, low=0.2, high=0.4, clarity=0.9).sound
        True
        >>> Appraisal(added=0.03, error=0.01, share=0.5, low=0.2, high=0.4, clarity=0.9).sound
        False
    """

    added: float  # to the model's mean goodness on a root row
    error: float  # its standard error over the rows
    share: float  # of what all valued updates hold together
    low: float  # nine cases in ten lie between these
    high: float
    clarity: float  # how much of the differences between sellers is believed

    @property
    def sound(self) -> bool:
        """Whether the numbers make sense: not where somebody else made them up."""
        finite = all(math.isfinite(getattr(self, field.name)) for field in fields(self))
        shares = 0.0 <= self.low <= self.share <= self.high <= 1.0
        return finite and shares and self.error >= 0 and 0.0 <= self.clarity <= 1.0


def appraisals(valued: Valued) -> list[Appraisal]:
    """[k] one for each valued update.

    Before anything is seen, sellers' worth differs by a factor e either way, and √(1 − clarity) of that is left after
    it. An interval is never narrower: a share that was shrunk to its equal part is not known to be equal.

    low = min(low, share / l), high = max(high, min(1, share·l)) with l = e^(1.645·√(1 − clarity))

    Examples:
        >>> from martfl.valuation.information import Worth
        >>> worth = Worth(np.array([0.75, 0.25]), np.array([0.7, 0.2]), np.array([0.8, 0.3]), clarity=1.0)
        >>> valued = Valued(worth, np.array([0.75, 0.25]), np.array([0.03, 0.01]), np.array([0.002, 0.002]))
        >>> [told.share for told in appraisals(valued)]
        [0.75, 0.25]
    """
    worth = valued.worth
    left = math.exp(NINETY * math.sqrt(1.0 - worth.clarity))
    low, high = np.minimum(worth.low, worth.shares / left), np.maximum(worth.high, np.minimum(1.0, worth.shares * left))
    columns = (valued.added, valued.added_error, worth.shares, low, high)
    return [
        Appraisal(added=added, error=error, share=share, low=least, high=most, clarity=float(worth.clarity))
        for added, error, share, least, most in zip(*(column.tolist() for column in columns), strict=True)
    ]


def brief(told: Appraisal) -> str:
    """What the update added, with its interval.

    added ± 1.645·error

    Examples:
        >>> brief(Appraisal(added=0.031, error=0.004, share=0.3, low=0.2, high=0.4, clarity=0.9))
        '+0.031 (+0.024 to +0.038)'
    """
    places = min(MOST_PLACES, max(2, -math.floor(math.log10(told.error)))) if told.error > 0 else MOST_PLACES
    low, high = told.added - NINETY * told.error, told.added + NINETY * told.error
    return f"{told.added:+.{places}f} ({low:+.{places}f} to {high:+.{places}f})"


def brief_share(told: Appraisal) -> str:
    """What the update holds of all, with its interval.

    Examples:
        >>> brief_share(Appraisal(added=0.031, error=0.004, share=0.3, low=0.2, high=0.4, clarity=0.9))
        '30.0 (20.0 to 40.0) %'
    """
    return f"{100 * told.share:.1f} ({100 * told.low:.1f} to {100 * told.high:.1f}) %"


def statement(told: Appraisal, *, weight: float) -> str:
    """What the update added, what it holds of all, and why its part of the bonus is `weight`.

    Examples:
        >>> told = Appraisal(added=0.031, error=0.004, share=0.3, low=0.2, high=0.4, clarity=0.9)
        >>> statement(told, weight=0.3)[:80]
        "To the model's goodness on a row of the buyer's data, your update added +0.031 ("
    """
    return (
        f"To the model's goodness on a row of the buyer's data, your update added {brief(told)}. Of what the updates "
        f"in the model hold together, yours holds {brief_share(told)}{_why(told, weight)}. "
        "Nine times in ten the truth is within the brackets."
    )


def _why(told: Appraisal, weight: float) -> str:
    """From what it holds to what it gets."""
    if math.isclose(weight, told.share, rel_tol=ALIKE, abs_tol=1e-4):
        return f", and your part of the bonus, {100 * weight:.1f} %, follows from that"
    if told.clarity < CLEAR:
        cause = "the updates tell little about their sellers yet, so that the selection's weights count more"
    elif weight > told.share:
        cause = "the selection weighed others less"
    else:
        cause = "the selection weighed your update less, for its length or for doubts about it"
    return f". Your part of the bonus is {100 * weight:.1f} %: {cause}"
