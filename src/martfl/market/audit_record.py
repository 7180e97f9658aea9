"""An epoch as its events and transactions tell it, put in order: who was bought at which price, and what became of it.

Events name providers; offers, points and proofs are in the transactions that they came with. Nothing here asks the
contract what it has computed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from hexbytes import HexBytes
from web3.contract import Contract

from martfl.chain import events as ev
from martfl.chain.deployment import BASIS, Deadlines
from martfl.chain.history import History, PastEvent
from martfl.chain.state import Phase, price_of
from martfl.chain.trading import Trading
from martfl.market.errors import MarketError
from martfl.values import Settings

Finding = tuple[bool, str] | None  # whether it holds, and what was found; None: there is nothing to ask
Question = Callable[[], Finding]


class OpaqueCallError(MarketError):
    """A call that another contract made: the chain has its events, not its arguments.

    What anybody may call, anybody may call so. The contract has checked it, and its code is checked here; so that no
    stranger can make a true market fail its audit, such a call is taken at the contract's word.
    """


@dataclass(frozen=True)
class Purchase:
    """An offer as it was bought."""

    provider: str
    commitment: bytes  # keccak of what the update was committed to
    seal: bytes
    ask: int
    price: int
    at: int


@dataclass(frozen=True)
class EpochRecord:
    """One epoch."""

    trading: Trading
    history: History
    epoch: int

    # --- money and time --------------------------------------------------------------------------------------------

    @cached_property
    def opened(self) -> PastEvent:
        """The event that began it."""
        return self.history.entries_of(ev.EpochOpened, self.epoch)[0]

    @cached_property
    def times(self) -> Deadlines:
        """The last seconds of its windows."""
        return self.trading.terms().deadlines(self.opened.at)

    @cached_property
    def deposit(self) -> int:
        """What was paid in."""
        return sum(event.amount for event in self.history.of(ev.Deposited, self.epoch))

    @cached_property
    def reward(self) -> int:
        """The part of it that providers may get; the odd unit is the penalty's."""
        return self.deposit * BASIS // (BASIS + self.trading.terms().penalty_ratio)

    # --- the exchange ----------------------------------------------------------------------------------------------

    @cached_property
    def committed(self) -> dict[str, bytes]:
        """Who committed to which digest."""
        return {event.provider: event.digest for event in self.history.of(ev.ModelCommitted, self.epoch)}

    @cached_property
    def bought(self) -> dict[str, Purchase]:
        """What was bought, as the buying transactions state it."""
        found = [one for entry in self.history.entries_of(ev.Bought, self.epoch) for one in self._purchase(entry)]
        return {one.provider: one for one in found}

    @cached_property
    def accepted(self) -> set[str]:
        """Those whose update the acquirer says it has."""
        return {name for event in self.history.of(ev.Accepted, self.epoch) for name in event.providers}

    @cached_property
    def revealed(self) -> dict[str, PastEvent]:
        """Whose key is on chain."""
        return {_about(entry): entry for entry in self.history.entries_of(ev.Revealed, self.epoch)}

    @cached_property
    def refuted(self) -> dict[str, PastEvent]:
        """Whose update was shown to be false."""
        return {_about(entry): entry for entry in self.history.entries_of(ev.Refuted, self.epoch)}

    @cached_property
    def weights(self) -> dict[str, int]:
        """Who is in the published aggregate."""
        return self.history.weights(self.epoch)

    @cached_property
    def delivered(self) -> set[str]:
        """Who handed over what it committed to, as far as anybody has said or shown."""
        return ({*self.accepted, *self.revealed, *self.weights} & set(self.bought)) - set(self.refuted)

    # --- where it stands -------------------------------------------------------------------------------------------

    def phase(self, now: int) -> Phase:
        """The phase that the events lead to in second `now`."""
        published = [*self._times(ev.ModelPublished), *self._times(ev.RootPublished)]
        if not published or now < published[0]:
            return self._unpublished(now)
        silent = set(self.bought) - self.delivered - set(self.refuted)
        refutable = set(self.revealed) - set(self.refuted) - self.accepted - set(self.weights)
        open_ = (silent and now <= self.times.keys) or (refutable and now <= self.times.publish)
        standing, failing = (Phase.STANDING, Phase.FAILING) if open_ else (Phase.SETTLED, Phase.FAILED)
        if not (self.trading.needs_proof and self.weights):
            return standing
        if self.history.of(ev.EpochFailed, self.epoch):
            return failing
        if now > self.proof_deadline:
            return standing if self.history.of(ev.EpochProved, self.epoch) else failing
        return Phase.PROVED if self.history.of(ev.EpochProved, self.epoch) else Phase.PUBLISHED

    @cached_property
    def proof_deadline(self) -> int:
        """Until when a proof that is needed is due, or the one that there is may be refuted."""
        published = self.history.entries_of(ev.RootPublished, self.epoch)
        proved = self.history.entries_of(ev.EpochProved, self.epoch)
        return (proved or published)[0].at + self.trading.terms().settle_window

    def _times(self, kind: type[ev.Event]) -> list[int]:
        return self.history.times(kind, self.epoch)

    def _unpublished(self, now: int) -> Phase:
        if now <= self.times.commit:
            return Phase.OPEN
        if now <= (self.times.publish if self.bought else self.times.buy):
            return Phase.TRADING
        return Phase.FAILED if self.bought else Phase.EMPTY

    # --- transactions ----------------------------------------------------------------------------------------------

    def call(self, entry: PastEvent, function: str, contract: Contract | None = None) -> Settings:
        """What the transaction of an event was called with; `OpaqueCallError` where another contract made the call."""
        contract = contract or self.trading.contract
        sent = self.trading.chain.web3.eth.get_transaction(HexBytes(entry.transaction))
        if sent.get("to") != contract.address:
            raise OpaqueCallError(f"{entry.transaction} came through another contract: its arguments cannot be read")
        called, given = contract.decode_function_input(sent["input"])
        if called.fn_name != function:
            raise MarketError(f"{entry.transaction} calls {called.fn_name}, not {function}")
        return dict(given)

    def _purchase(self, entry: PastEvent) -> list[Purchase]:
        given = self.call(entry, "buy")["offers"]
        named = [(offer["provider"], bytes(offer["commitment"]), bytes(offer["seal"]), offer["ask"]) for offer in given]
        return [Purchase(*offer, price_of(offer[-1], self.reward), entry.at) for offer in named]


def _about(entry: PastEvent) -> str:
    return str(getattr(entry.event, "provider", ""))
