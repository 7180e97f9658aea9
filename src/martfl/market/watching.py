"""What a seller must bring into the chain in time, whether it is asked or not: commitment, key, refutation, claim.

    commit window ends − margin     our commitment is not on chain: we send it ourselves, whoever promised to
    key window ends − margin        we are bought, neither accepted nor listed: the key goes on chain
    proof (sampled)                 what the acquirer says about our update is refuted where it is false
    final                           what is owed is claimed

Whoever cannot keep one transaction out of the chain for the margin cannot cheat an honest seller.
"""

import logging
import threading
from dataclasses import dataclass, field

from eth_account.signers.local import LocalAccount

from martfl.chain import events as ev
from martfl.chain.network import RevertedError
from martfl.chain.signing import sign_commit
from martfl.chain.state import Phase, SignedCommit, State
from martfl.chain.trading import Done, Trading
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.link import NoClock
from martfl.market.settling import Acting, Settler
from martfl.market.shelf import Shelf
from martfl.market.steps import Collected, CommitSent, KeyRevealed, Sent
from martfl.market.terms import Terms

log = logging.getLogger(__name__)
PROVING = (Phase.PUBLISHED, Phase.PROVED)


@dataclass
class Watching:
    """One seller's eye on one market's contract. It looks while the seller trains or waits, in a thread of its own."""

    terms: Terms
    trading: Trading
    settler: Settler
    journal: Journal
    account: LocalAccount
    shelf: Shelf
    _turn: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def look(self) -> dict[int, int]:
        """Do what is due in every epoch that we have something in; epoch → wei that came in."""
        with self._turn:
            found = {epoch: self._look_after(epoch) for epoch in self._open()}
        return {epoch: amount for epoch, amount in found.items() if amount is not None}

    def due(self) -> int | None:
        """The next second at which something must be looked at; None: nothing is known to be due."""
        now, margin = self.trading.chain.now(), self.terms.deadlines.margin
        moments = []
        for epoch in self._open():
            times = self.trading.deadlines(epoch)
            moments += [times.commit - margin, times.keys - margin]
        return min((moment for moment in moments if moment > now), default=None)

    def signed_commit(self, epoch: int) -> SignedCommit:
        """Our commitment, for anybody to send."""
        chain_id, market = self.trading.chain.chain_id, self.trading.address
        digest = self.shelf.digest(epoch)
        return sign_commit(self.account, chain_id=chain_id, market=market, epoch=epoch, digest=digest)

    def claim(self, epoch: int) -> int:
        """What a final epoch paid us: claimed now, or before, or for us by somebody else."""
        if not self.trading.read_epoch(epoch).phase.final:
            raise MarketError(f"epoch {epoch} is not final yet")
        with self._turn:
            amount = self.journal.once(epoch, Collected, lambda: Collected(amount=self._claim(epoch))).amount
            self.journal.forget(epoch)  # the epoch is over and paid: nobody can ask for the update any more
        return amount

    # --- parts ---------------------------------------------------------------------------------------------------

    def _look_after(self, epoch: int) -> int | None:
        """What is due in one epoch; what it paid, where it is final."""
        self._commit_in_time(epoch)
        if not self._is_ours(epoch):
            return None
        self._reveal_in_time(epoch)
        self._defend(epoch)
        return self.claim(epoch) if self.trading.read_epoch(epoch).phase.final else None

    def _open(self) -> list[int]:
        epochs = range(1, self.trading.epoch_count() + 1)
        return [e for e in epochs if self.journal.recall(e, Collected) is None and self.shelf.holds(e)]

    def _commit_in_time(self, epoch: int) -> None:
        """Send our own commitment when the margin begins and nobody has sent it."""
        if self.journal.recall(epoch, CommitSent) is not None:
            return
        if self.trading.commitments(epoch).get(self.account.address) == self.shelf.digest(epoch):
            self.journal.once(epoch, CommitSent, lambda: CommitSent(sent=None))
            return
        now, last = self.trading.chain.now(), self.trading.deadlines(epoch).commit
        if not last - self.terms.deadlines.margin <= now <= last:
            return
        try:
            done = self.trading.commit_model(
                epoch, digest=self.shelf.digest(epoch), account=self.account, key=self._key(epoch, "commit")
            )
            self.journal.once(epoch, CommitSent, lambda: CommitSent(sent=sent(done, "commit_model")))
        except RevertedError as error:  # somebody sent it in the same moment, or it is too late
            log.info("epoch %d: our commitment was not sent by us: %s", epoch, error)

    def _is_ours(self, epoch: int) -> bool:
        """Whether the chain has our commitment. Without one, an epoch that takes none any more is done with."""
        if self.trading.commitments(epoch).get(self.account.address) == self.shelf.digest(epoch):
            return True
        if self.trading.read_epoch(epoch).phase is not Phase.OPEN:
            self.journal.once(epoch, Collected, lambda: Collected(amount=0))
            self.journal.forget(epoch)
        return False

    def _reveal_in_time(self, epoch: int) -> None:
        """Put our key on chain when the margin begins and the buyer has not said that it has it."""
        last, now = self.trading.deadlines(epoch).keys, self.trading.chain.now()
        if not last - self.terms.deadlines.margin <= now <= last:
            return
        if self.trading.read_provider(epoch, self.account.address).state is not State.BOUGHT:
            return
        try:
            done = self.trading.reveal(
                epoch,
                offer=self.shelf.offer(epoch),
                secret=self.shelf.secret(epoch),
                account=self.account,
                key=self._key(epoch, "reveal"),
            )
            self.journal.once(epoch, KeyRevealed, lambda: KeyRevealed(sent=sent(done, "reveal")))
        except RevertedError as error:  # accepted in the same moment
            log.info("epoch %d: our key was not revealed: %s", epoch, error)

    def _defend(self, epoch: int) -> None:
        """Sampled settlement: hold the acquirer to what it says about our update."""
        if self.trading.read_epoch(epoch).phase not in PROVING:
            return
        if self.trading.read_provider(epoch, self.account.address).state is not State.LISTED:
            return
        act = Acting(self.trading, self.account, NoClock(), epoch)
        own = (self.shelf.offer(epoch), self.shelf.integers(epoch), self.shelf.secret(epoch))
        if self.settler.defend(act, *own):
            acquirer = self.trading.terms().acquirer
            self.journal.remark(epoch, acquirer, "false inputs", "the proof is not about our update")

    def _claim(self, epoch: int) -> int:
        if self.trading.read_provider(epoch, self.account.address).claimable:
            try:
                self.trading.claim_reward(epoch, account=self.account, key=self._key(epoch, "claim"))
            except RevertedError as error:
                if self.trading.read_provider(epoch, self.account.address).claimable:
                    raise MarketError(f"what epoch {epoch} owes cannot be paid yet: {error.reason}") from error
        paid = self.trading.events(ev.Claimed, epoch=epoch)  # by us, or for us
        return sum(event.amount for event in paid if event.provider == self.account.address)

    def _key(self, epoch: int, step: str) -> str:
        return f"{self.trading.address}/{epoch}/{step}"


def sent(done: Done, function: str) -> Sent:
    """What the journal keeps of a transaction."""
    return Sent(function=function, gas=done.gas, transaction=done.receipt.transaction)
