"""The steps of a provider's journal."""

from dataclasses import dataclass

from martfl.market.step import Sent, Step
from martfl.valuation import Appraisal


@dataclass(frozen=True, kw_only=True)
class Joined(Step):
    """Whose journal this is, and of which market: contracts on two chains may have one address."""

    step = "joined"
    chain: int
    contract: str
    wallet: str


@dataclass(frozen=True, kw_only=True)
class CommitSent(Step):
    """The commitment is on chain; `sent` where we sent it ourselves."""

    step = "commit"
    sent: Sent | None


@dataclass(frozen=True, kw_only=True)
class BaselineSeen(Step):
    """The baseline of a number is this one, and no other is answered."""

    step = "baseline"
    digest: str


@dataclass(frozen=True, kw_only=True)
class KeyGiven(Step):
    """The key is out: it went to the acquirer, or on its way into the chain."""

    step = "key"
    price: int


@dataclass(frozen=True, kw_only=True)
class KeyRevealed(Step):
    """The key is on chain."""

    step = "reveal"
    sent: Sent


@dataclass(frozen=True, kw_only=True)
class ModelChecked(Step):
    """The file of an epoch's model was found right."""

    step = "model checked"
    digest: str


@dataclass(frozen=True, kw_only=True)
class Collected(Step):
    """What the epoch paid."""

    step = "claim"
    amount: int


@dataclass(frozen=True, kw_only=True)
class Appraised(Step):
    """What the acquirer says that our update added, and the part of the model that it is."""

    step = "appraised"
    weight: float
    value: Appraisal
