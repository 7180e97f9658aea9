"""When a seller may answer, as the chain says: nothing is shown before its time, and no key is given unbought."""

import time
from dataclasses import dataclass

from eth_account.signers.local import LocalAccount

from martfl.chain.deployment import Deadlines
from martfl.chain.state import Offer, Phase, ProviderState
from martfl.chain.trading import Trading
from martfl.market import messages as ms
from martfl.market.errors import MarketError
from martfl.market.link import counted_time
from martfl.market.shelf import Shelf
from martfl.market.terms import Terms
from martfl.market.windows import Windows

PATIENCE, PAUSE = 120.0, 0.5  # seconds for a block to become deep enough, and between looks
REVEAL_GAS = 100_000  # what putting a key on chain costs at most
AFTER_CLOSING = (ms.OfferRequest, ms.ScoreRequest, ms.SealedRequest)  # answered when commitments are closed


@dataclass(frozen=True)
class Guard:
    """What one seller checks before it answers."""

    terms: Terms
    trading: Trading
    account: LocalAccount
    shelf: Shelf
    windows: Windows
    trusting: bool

    def check_open(self, epoch: int) -> int:
        """Raise unless the epoch takes commitments and holds what was promised. Returns the epoch it starts from."""
        self._deadlines(epoch)
        state = self.trading.read_epoch(epoch)
        if state.phase is not Phase.OPEN:
            raise MarketError(f"epoch {epoch} takes no commitments any more (phase {state.phase.name})")
        if state.reward < self.terms.money.reward:
            raise MarketError(f"the terms promise {self.terms.money.reward} wei, epoch {epoch} holds {state.reward}")
        return state.base

    def _deadlines(self, epoch: int) -> Deadlines:
        if not 1 <= epoch <= self.trading.epoch_count():
            raise MarketError(f"the chain knows no epoch {epoch}")
        return self.trading.deadlines(epoch)

    def check_trading(self, epoch: int) -> Deadlines:
        """Raise unless commitments are closed, deep in the chain, and purchases are open. Returns the deadlines."""
        times = self._deadlines(epoch)
        if counted_time(self.trading.chain) <= times.commit:
            raise MarketError(f"commitments of epoch {epoch} are not closed yet")
        phase = self.trading.read_epoch(epoch).phase
        if phase is not Phase.TRADING or self.trading.chain.now() > times.buy:
            raise MarketError(f"epoch {epoch} sells nothing any more (phase {phase.name})")
        return times

    def committed_offer(self, epoch: int) -> Offer:
        """Our offer, where the chain holds the commitment to it."""
        mine = self.shelf.offer(epoch)
        if self.trading.commitments(epoch).get(self.account.address) != self.shelf.digest(epoch):
            raise MarketError(f"the chain has no commitment of {self.account.address} to this offer in epoch {epoch}")
        return mine

    def price(self, epoch: int) -> int:
        """What was paid for our key, where it may be given now.

        The purchase is of what we have here, in a block that counts, since a re-organisation may undo others. And there
        is time to put the key on chain, if the buyer denies that it came.
        """
        if not self._standing(epoch).state.bought:
            raise MarketError(f"nothing was bought from {self.account.address} in epoch {epoch}")
        self.committed_offer(epoch)
        counted = self._standing(epoch, deep=True)
        if not counted.state.bought:
            raise MarketError(f"the purchase in epoch {epoch} is not deep enough in the chain yet")
        last = self.windows.key_due(epoch)
        if self.trading.chain.next_second() > last:
            raise MarketError(f"keys are given until second {last}; after that, they go on chain in time")
        self._check_means()
        return counted.price

    def _check_means(self) -> None:
        """Raise unless we could put the key on chain ourselves: the buyer could deny that it came."""
        fee = int(self.trading.chain.web3.eth.get_block("latest").get("baseFeePerGas", 0))
        needed = 2 * fee * REVEAL_GAS * max(1, self.windows.keys())
        held = self.trading.chain.balance(self.account.address)
        if held < needed and not self.trusting:
            raise MarketError(
                f"whoever gives a key must have {needed} wei to reveal it with, and others that may be due; "
                f"this wallet has {held}"
            )

    def wait_for_depth(self, message: ms.Message) -> None:
        """Wait while what a request is about is in the chain, but not deep enough to count."""
        if not isinstance(message, (*AFTER_CLOSING, ms.KeyRequest)):
            return
        deadline, epoch = time.monotonic() + PATIENCE, message.epoch
        closing, chain = self._deadlines(epoch).commit, self.trading.chain

        def holds(*, deep: bool) -> bool:
            if isinstance(message, ms.KeyRequest):
                return self._standing(epoch, deep=deep).state.bought
            return (counted_time(chain) if deep else chain.now()) > closing

        while holds(deep=False) and not holds(deep=True) and time.monotonic() < deadline:
            time.sleep(PAUSE)

    def _standing(self, epoch: int, *, deep: bool = False) -> ProviderState:
        return self.trading.read_provider(epoch, self.account.address, deep=deep)
