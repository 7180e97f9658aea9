"""What happened in a market, ready to be shown: plain values, no journal, no chain, no HTML, no sentences."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from martfl.valuation import Appraisal


class Stage(StrEnum):
    """What is going on in an epoch, in the order in which it goes on."""

    TRAINING = "training"
    COMMITTING = "committing"
    SCORING = "scoring"
    BUYING = "buying"
    AGGREGATION = "aggregation"
    CHECKING = "checking"
    SETTLEMENT = "settlement"
    PAYMENT = "payment"
    OVER = "over"


STAGES = tuple(Stage)


class DeliveryState(StrEnum):
    """How a bought update came over, as far as chain or journal say."""

    NONE = "not bought"
    WAITING = "awaited"  # bought; neither key nor answer yet
    LISTED = "listed"  # part of the published model
    ACCEPTED = "accepted"  # the acquirer said on chain that it has it
    REVEALED = "key on chain"  # the provider put its key there, open to refutation
    REFUTED = "refuted"  # the key opens something else than was committed to
    SILENT = "silent"  # no key came in time


class CheckKind(StrEnum):
    """What was checked."""

    BASE = "the model to train on is the one on chain"
    OFFER = "what a provider shows opens its commitment"
    SCORE = "encrypted scores are well-formed and in range"
    KEY = "keys open what was committed to"
    HONESTY = "bought updates have the scores that were given"
    SUM = "the new model's commitment is the weighted sum of the listed ones"
    PROOF = "the proof over randomly drawn parameters is valid"
    MODEL = "the published model is the one on chain"


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """Something that a party did on chain."""

    epoch: int
    function: str
    hash: str
    gas: int
    party: str = ""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One provider in one epoch: what was seen of it, what was decided, what it got."""

    provider: str
    committed: bool = False
    ask: int | None = None  # None: it showed no offer
    price: int | None = None  # None: it was not bought
    delivery: DeliveryState = DeliveryState.NONE
    score: float | None = None  # two decimals; None until the epoch is over
    role: str = ""  # empty until it is judged
    reason: str = ""  # empty until the epoch is over
    weight: float = 0.0  # part of the aggregate
    value: Appraisal | None = None  # what its update added; None until the epoch is over, or where nobody measured it
    checked: bool = False  # found the published model to be the one on chain
    paid: int | None = None  # None: not known yet
    offence: str = ""  # what it was caught at
    evidence: str = ""

    @property
    def bonus(self) -> int:
        """What it got beside its price: its part of the rest of the reward, by weight."""
        return max((self.paid or 0) - (self.price or 0), 0)


@dataclass(frozen=True, kw_only=True)
class CheckCount:
    """A check, by whom, of how many, and how many passed."""

    who: str
    kind: CheckKind
    passed: int
    of: int


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """Something that somebody should look at."""

    epoch: int
    kind: str
    text: str
    subject: str = ""
    grave: bool = True


@dataclass(frozen=True, kw_only=True)
class EpochStory:
    """One epoch as far as it has come."""

    number: int
    stage: Stage
    outcome: str = ""  # how it ended: the contract's phase, e.g. SETTLED
    opened: float = 0.0  # wall clock
    latest: float = 0.0  # when the last step was written
    deadline: int = 0  # chain time by which the stage must be over; 0: nothing is due
    turns: tuple[Turn, ...] = ()
    baselines: int = 0
    deposit: int = 0
    reward: int = 0
    refunded: int = 0
    accuracy: float | None = None  # on the acquirer's root data
    tested: float | None = None  # on test data, where the run has some
    sent: Mapping[str, int] = field(default_factory=dict)  # bytes by message
    received: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)  # by step
    checks: tuple[CheckCount, ...] = ()
    transactions: tuple[Transaction, ...] = ()
    model: str = ""  # hash of the published file

    @property
    def over(self) -> bool:
        """Whether nothing more will happen in it."""
        return self.stage is Stage.OVER

    @property
    def penalty(self) -> int:
        """What the acquirer loses if it publishes nothing in time."""
        return self.deposit - self.reward

    @property
    def spent(self) -> int:
        """The sum of all prices."""
        return sum(turn.price or 0 for turn in self.turns)

    @property
    def paid(self) -> int:
        """What all providers together were paid."""
        return sum(turn.paid or 0 for turn in self.turns)

    @property
    def bonus(self) -> int:
        """The part of it that went by weight."""
        return sum(turn.bonus for turn in self.turns)

    @property
    def forfeited(self) -> int:
        """The penalty of a failed epoch: it stays in the contract, and is nobody's."""
        return self.penalty if self.outcome == "FAILED" else 0

    @property
    def held(self) -> int:
        """What was paid in, and is neither taken out nor forfeited yet."""
        return self.deposit - self.paid - self.refunded - self.forfeited

    def gas(self) -> dict[str, int]:
        """Gas by function, as far as transactions are known."""
        used: dict[str, int] = {}
        for transaction in self.transactions:
            used[transaction.function] = used.get(transaction.function, 0) + transaction.gas
        return used


@dataclass(frozen=True, kw_only=True)
class Party:
    """A provider: what it calls itself (never to be trusted as text) and, in a demo, what it really did."""

    address: str
    name: str = ""
    behaviour: str = ""


@dataclass(frozen=True, kw_only=True)
class Node:
    """The chain as it was last seen."""

    block: int
    time: int
    balance: int  # of the contract
    phases: Mapping[int, str]  # epoch → phase


@dataclass(frozen=True, kw_only=True)
class Story:
    """A market from its first epoch to now."""

    name: str
    parties: Mapping[str, Party]  # by address, in the order of first appearance
    epochs: tuple[EpochStory, ...]
    alarms: tuple[Alarm, ...] = ()
    contract: str = ""
    since: int = 0  # block of the contract's deployment
    chain_id: int = 0
    acquirer: str = ""
    rule: str = ""
    value: str = ""  # what weights go by
    scheme: str = ""
    needs_proof: bool = False  # a published model stands only once it is proved
    parameters: int = 0
    token: str = ""  # empty or zero: the chain's own coin
    ask: int = 0  # of the terms, where a provider names none of its own
    measure: str = "accuracy"  # what a model is measured by
    start_accuracy: float | None = None
    start_tested: float | None = None
    whole_ledger: bool = False  # transactions of all parties, not only of the acquirer
    node: Node | None = None

    def paid_to(self, provider: str) -> int:
        """Everything that a provider has been paid."""
        return sum(turn.paid or 0 for turn in self.turns_of(provider).values())

    def turns_of(self, provider: str) -> Mapping[int, Turn]:
        """A provider's epochs."""
        return self._turns.get(provider, {})

    @cached_property
    def _turns(self) -> dict[str, dict[int, Turn]]:
        found: dict[str, dict[int, Turn]] = {}
        for epoch in self.epochs:
            for turn in epoch.turns:
                found.setdefault(turn.provider, {})[epoch.number] = turn
        return found
