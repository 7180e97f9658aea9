"""What a party's journal holds of each finished step, as types that writers and readers share.

A step is one frozen dataclass; its `step` names it in the journal, a label tells steps of one kind apart. Values are
integers, texts, numbers, and tuples, mappings and dataclasses of these, so that one codec serves all (`codec`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from martfl.market.seller_steps import Appraised as Appraised
from martfl.market.seller_steps import BaselineSeen as BaselineSeen
from martfl.market.seller_steps import Collected as Collected
from martfl.market.seller_steps import CommitSent as CommitSent
from martfl.market.seller_steps import Joined as Joined
from martfl.market.seller_steps import KeyGiven as KeyGiven
from martfl.market.seller_steps import KeyRevealed as KeyRevealed
from martfl.market.seller_steps import ModelChecked as ModelChecked
from martfl.market.step import S as S
from martfl.market.step import Sent as Sent
from martfl.market.step import Step as Step
from martfl.market.step import Traffic as Traffic
from martfl.valuation import Appraisal


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """How good a model is: what a task measures, and which of it counts."""

    measure: str
    values: Mapping[str, float]

    @property
    def value(self) -> float | None:
        """What counts; None where it could not be measured."""
        return self.values.get(self.measure)


# --- the acquirer: the market as a whole ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MarketOpened(Step):
    """The market in the words of its terms, for whoever reads the journal alone."""

    step = "market"
    contract: str
    since: int
    chain: int
    acquirer: str
    parameters: int
    quality: Measurement  # of the initial model on the root data
    seed: int  # of the rule's draws
    terms: str  # TOML


# --- the acquirer: an epoch ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Opened(Step):
    """The epoch is open; its windows end at these seconds."""

    step = "open"
    deposit: int
    reward: int
    commit: int
    buy: int
    keys: int
    publish: int
    sent: Sent


@dataclass(frozen=True, kw_only=True)
class Invited(Step):
    """Who was sent the model, what they call themselves, and who signed a commitment for us to send."""

    step = "invite"
    invited: tuple[str, ...]
    names: Mapping[str, str]
    signed: tuple[str, ...]
    traffic: Traffic


@dataclass(frozen=True, kw_only=True)
class Relayed(Step):
    """The signed commitments are on chain."""

    step = "relay"
    sent: tuple[Sent, ...]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A provider's offer."""

    commitment: str  # hexadecimal, as the two below
    root: str
    key_hash: str
    ask: int


@dataclass(frozen=True, kw_only=True)
class Offers(Step):
    """Who committed, and what opens whose commitment."""

    step = "offers"
    committed: tuple[str, ...]
    shown: Mapping[str, Shown]
    traffic: Traffic


@dataclass(frozen=True, kw_only=True)
class Drawn(Step):
    """The block whose hash draws the sketch."""

    step = "draw"
    number: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class OwnUpdate(Step):
    """The acquirer's own update is there."""

    step = "own update"


@dataclass(frozen=True, kw_only=True)
class BaselineScores(Step):
    """What everybody answered to one baseline; None: no valid answer."""

    step = "scores"
    scores: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class Ordered(Step):
    """Whom a purchase is for, before it is made."""

    step = "order"
    providers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Purchased(Step):
    """Bought on chain, at these prices; nobody where it was too late."""

    step = "buy"
    prices: Mapping[str, int]
    sent: Sent | None


@dataclass(frozen=True, kw_only=True)
class KeysTaken(Step):
    """Whose keys came when a purchase was made, and opened what they had to. Others may still put theirs on chain."""

    step = "keys"
    providers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the rule decided about one provider, and why."""

    score: float | None
    weight: float
    role: str
    reason: str  # a code
    facts: Mapping[str, float] = field(default_factory=dict)  # the reason's numbers
    words: str = ""  # the same for people
    value: Appraisal | None = None  # what its update added; None where that was not measured


@dataclass(frozen=True, kw_only=True)
class Selected(Step):
    """The rule's decision."""

    step = "select"
    rule: str
    baselines: int
    judged: Mapping[str, Judged]
    traffic: Traffic


@dataclass(frozen=True, kw_only=True)
class Acceptance(Step):
    """Those who delivered and have no weight were told so on chain."""

    step = "accept"
    providers: tuple[str, ...]
    sent: Sent | None


@dataclass(frozen=True, kw_only=True)
class Aggregated(Step):
    """The new model's file."""

    step = "aggregate"
    digest: str


@dataclass(frozen=True, kw_only=True)
class ModelPosted(Step):
    """The new model is on chain, made of these weights."""

    step = "publish"
    weights: Mapping[str, int]
    sent: Sent


@dataclass(frozen=True, kw_only=True)
class HandedOut(Step):
    """Who got the new model's file, and who found it right."""

    step = "hand out"
    asked: int
    accepted: tuple[str, ...]
    traffic: Traffic


@dataclass(frozen=True, kw_only=True)
class Proved(Step):
    """What the scheme wanted proved."""

    step = "prove"
    sent: tuple[Sent, ...]


@dataclass(frozen=True, kw_only=True)
class Answered(Step):
    """What became of a key on chain: accepted, or refuted by a leaf."""

    step = "answer"
    provider: str
    refuted: int | None
    sent: Sent


@dataclass(frozen=True, kw_only=True)
class PaidOut(Step):
    """Who was paid what, and what came back to the acquirer."""

    step = "pay"
    paid: Mapping[str, int]
    refunded: int
    sent: tuple[Sent, ...]
    traffic: Traffic


@dataclass(frozen=True, kw_only=True)
class Over(Step):
    """The epoch is over."""

    step = "over"
    phase: str
    refunded: int
    quality: Measurement  # of the model that stands, on the root data


KINDS: dict[str, type[Step]] = {kind.step: kind for kind in Step.__subclasses__()}
