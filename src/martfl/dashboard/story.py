"""What happened in a market, ready to be shown: plain values, no journal, no chain, no HTML."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

WHOLE = 1 << 16  # what the integer weights of an epoch sum to

# Where an epoch stands, from the acquirer's journal: the last step that is done → what is going on now.
PHASES = {
    "open": "training",
    "invite": "scoring",
    "scores": "scoring",
    "advance": "scoring",
    "select": "buying",
    "prepare": "delivery",
    "collect": "aggregation",
    "aggregate": "aggregation",
    "publish": "checking",
    "hand out": "checking",
    "settle": "settlement",
    "claim": "payment",
    "closed": "payment",
    "learn": "payment",
    "over": "over",
}
STAGES = ("training", "scoring", "buying", "delivery", "aggregation", "checking", "settlement", "payment", "over")


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
    score: float | None = None  # the one that was decided by
    role: str = ""  # empty until it is judged
    cluster: int = -1
    reason: str = ""
    weight: float = 0.0  # part of the aggregate
    advance: bool = False  # bought for a look, at the flat fee
    delivered: bool = False
    checked: bool = False  # found the published model to be the one on chain
    paid: int | None = None  # None: not known yet
    offence: str = ""  # what it was caught at
    evidence: str = ""


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check, by whom, of how many, and how many passed."""

    who: str
    what: str
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
class Epoch:
    """One epoch as far as it has come."""

    number: int
    stage: str  # one of STAGES
    outcome: str = ""  # how it ended: the contract's phase, e.g. SETTLED
    opened: float = 0.0  # wall clock
    latest: float = 0.0  # when the last step was written
    deadline: int = 0  # chain time by which the stage must be over
    turns: tuple[Turn, ...] = ()
    distribution: str = ""
    centroids: tuple[float, ...] = ()
    baselines: int = 0
    deposit: int = 0
    reward: int = 0
    fees: int = 0
    refunded: int = 0
    accuracy: float | None = None  # on the acquirer's root data
    tested: float | None = None  # on test data, where the run has some
    sent: Mapping[str, int] = field(default_factory=dict)  # bytes by message
    received: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)  # by step
    checks: tuple[Check, ...] = ()
    transactions: tuple[Transaction, ...] = ()
    model: str = ""  # hash of the published file

    @property
    def over(self) -> bool:
        """Whether nothing more will happen in it."""
        return self.stage == "over"

    @property
    def paid(self) -> int:
        """To all providers together."""
        return sum(turn.paid or 0 for turn in self.turns)

    @property
    def held(self) -> int:
        """Put in and not taken out yet."""
        return self.deposit + self.fees - self.paid - self.refunded

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
    epochs: tuple[Epoch, ...]
    alarms: tuple[Alarm, ...] = ()
    contract: str = ""
    since: int = 0  # block of the contract's deployment
    chain_id: int = 0
    acquirer: str = ""
    rule: str = ""
    scheme: str = ""
    parameters: int = 0
    token: str = ""  # empty: the chain's own coin
    fee: int = 0
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
