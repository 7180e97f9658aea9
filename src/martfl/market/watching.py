"""What a seller must bring into the chain in time, whether it is asked or not: key, commitment, refutation, claim.

    key window ends − margin        we are bought, neither accepted nor listed: the key goes on chain; earlier where
                                    other keys of the wallet are due at about that time (`windows`)
    commit window ends − margin     our commitment is not on chain: we send it ourselves, whoever promised to
    proof (sampled)                 what the acquirer says about our update is refuted where it is false
    final                           what is owed is claimed

Whoever cannot keep one transaction out of the chain for the margin cannot cheat an honest seller. Transactions of one
wallet wait for each other, so what can wait (claims; refutations that have the time) is not sent while a key or a
commitment may fall due before it is through, in this market or in another one of the wallet, and no commitment while a
key may. What is relied on for good (a purchase, an end) is read in a block that counts. What is due is judged by the
second in which a transaction that is sent now would run.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from eth_account.signers.local import LocalAccount

from martfl.chain import events as ev
from martfl.chain.network import RevertedError
from martfl.chain.signing import sign_commit
from martfl.chain.state import Phase, SaleState, SignedCommit
from martfl.chain.trading import Done, Trading
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.link import NoClock, counted_time
from martfl.market.settling import Acting, Settler
from martfl.market.shelf import Shelf
from martfl.market.steps import Collected, CommitSent, KeyGiven, KeyRevealed, Sent
from martfl.market.terms import Terms
from martfl.market.windows import Windows

log = logging.getLogger(__name__)
PROVING = (Phase.PUBLISHED, Phase.PROVED)
GRACE = 4  # a key that nobody has is revealed in the first 1/GRACE of the margin, or not at all


@dataclass
class Watching:
    """One seller's eye on one market's contract."""

    terms: Terms
    trading: Trading
    settler: Settler
    journal: Journal
    account: LocalAccount
    shelf: Shelf
    windows: Windows
    sold: Callable[[int, int], None]  # told of every epoch that paid, and how much
    _turn: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def look(self) -> dict[int, int]:
        """Do what is due in every epoch that we have something in; epoch → wei that came in.

        The most urgent comes first, and no duty is left undone because another one failed.
        """
        came: dict[int, int] = {}
        failed: list[Exception] = []
        with self._turn:
            epochs = self.windows.epochs()
            self.windows.announce()
            for duty in (self._reveal_in_time, self._commit_in_time, self._defend, self._collect):
                for epoch in epochs:
                    try:
                        came |= duty(epoch) or {}
                    except Exception as error:  # told when everything else is done
                        log.warning("epoch %d: %s failed: %s", epoch, duty.__name__.strip("_"), error)
                        failed.append(error)
        if failed:
            raise failed[0]
        return came

    def due(self) -> int | None:
        """The next second at which something must be looked at; None: nothing is known to be due."""
        now, margin = self.trading.chain.now(), self.terms.deadlines.margin
        moments = self.windows.moments()
        for epoch in self.windows.epochs():
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
        with self._turn:
            if (known := self.journal.recall(epoch, Collected)) is not None:
                return known.amount
            if not self._is_final(epoch):
                raise MarketError(f"epoch {epoch} is not final yet")
            if self._must_wait(epoch):
                raise MarketError(f"the claim of epoch {epoch} waits for a key or a commitment that is due before it")
            amount = self._claim(epoch)
            if amount:
                self.sold(epoch, amount)
            return self._close(epoch, amount)

    # --- parts ---------------------------------------------------------------------------------------------------

    def _reveal_in_time(self, epoch: int) -> None:
        """Put our key on chain when the margin begins and the buyer has not said that it has it.

        A key that is not out yet stays here where too little of the margin is left: it would be seen, perhaps unpaid.
        """
        last, chain = self.trading.deadlines(epoch).keys, self.trading.chain
        late = chain.next_second() - self.windows.key_due(epoch)
        if late < 0 or chain.now() >= last or not (price := self._price_due(epoch)):
            return
        if late > self.terms.deadlines.margin // GRACE and self.journal.recall(epoch, KeyGiven) is None:
            self.journal.remark(epoch, self.account.address, "late", f"{late} s after it was due: our key stays here")
            return
        self.journal.once(epoch, KeyGiven, lambda: KeyGiven(price=price))  # whatever comes of it, others have seen it
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

    def _price_due(self, epoch: int) -> int:
        """What our key earns on chain: 0 where the purchase does not count, or the buyer has said that it has it."""
        if self.trading.read_provider(epoch, self.account.address).state is not SaleState.BOUGHT:
            return 0
        return self.trading.read_provider(epoch, self.account.address, deep=True).price

    def _commit_in_time(self, epoch: int) -> None:
        """Send our own commitment when the margin begins and nobody has sent it."""
        last, chain = self.trading.deadlines(epoch).commit, self.trading.chain
        if chain.now() >= last:
            return
        if self._is_committed(epoch):
            self.journal.once(epoch, CommitSent, lambda: CommitSent(sent=None))
            return
        if chain.next_second() < last - self.terms.deadlines.margin or self.windows.pressing(besides=epoch) is not None:
            return  # not yet; or the key of another epoch comes first
        try:
            done = self.trading.commit_model(
                epoch, digest=self.shelf.digest(epoch), account=self.account, key=self._key(epoch, "commit")
            )
            self.journal.once(epoch, CommitSent, lambda: CommitSent(sent=sent(done, "commit_model")))
        except RevertedError as error:  # somebody sent it in the same moment, or it is too late
            log.info("epoch %d: our commitment was not sent by us: %s", epoch, error)

    def _defend(self, epoch: int) -> None:
        """Sampled settlement: hold the acquirer to what it says about our update."""
        if self.trading.read_epoch(epoch).phase not in PROVING:
            return
        if self.trading.read_provider(epoch, self.account.address).state is not SaleState.LISTED:
            return
        due, margin = self.windows.pressing(), self.terms.deadlines.margin
        if due is not None and self.trading.read_epoch(epoch).deadline >= due + margin:
            return  # there is time for both, one after the other
        act = Acting(self.trading, self.account, NoClock(), epoch)
        own = (self.shelf.offer(epoch), self.shelf.integers(epoch), self.shelf.secret(epoch))
        try:
            found = self.settler.defend(act, *own)
        except RevertedError as error:  # somebody else refuted it in the same moment
            log.info("epoch %d: the proof was not refuted by us: %s", epoch, error)
            return
        if found:
            acquirer = self.trading.terms().acquirer
            self.journal.remark(epoch, acquirer, "false inputs", "the proof is not about our update")

    def _collect(self, epoch: int) -> dict[int, int]:
        """Claim what a final epoch owes. One that took no commitment of ours is over for us when it takes no more."""
        if self._is_final(epoch):
            return {} if self._must_wait(epoch) else {epoch: self.claim(epoch)}
        if counted_time(self.trading.chain) > self.trading.deadlines(epoch).commit and not self._is_committed(epoch):
            self._close(epoch, 0)
        return {}

    def _must_wait(self, epoch: int) -> bool:
        """Whether a claim would be sent, and something that cannot wait may be due before it is through."""
        owed = self.trading.read_provider(epoch, self.account.address).claimable
        return bool(owed) and self.windows.pressing() is not None

    def _close(self, epoch: int, amount: int) -> int:
        self.journal.once(epoch, Collected, lambda: Collected(amount=amount))
        self.journal.forget(epoch)  # the epoch is over and paid: nobody can ask for the update any more
        return amount

    def _is_committed(self, epoch: int) -> bool:
        return self.trading.commitments(epoch).get(self.account.address) == self.shelf.digest(epoch)

    def _is_final(self, epoch: int) -> bool:
        """Whether nothing can change any more, in a block that counts."""
        if not 1 <= epoch <= self.trading.epoch_count():
            raise MarketError(f"the chain knows no epoch {epoch}")
        state = self.trading.read_epoch(epoch)
        if not state.phase.final or counted_time(self.trading.chain) <= state.opened:
            return False
        return self.trading.read_epoch(epoch, deep=True).phase.final

    def _claim(self, epoch: int) -> int:
        seller = self.account.address
        if self.trading.read_provider(epoch, seller).claimable:
            try:
                self.trading.claim_reward(epoch, account=self.account, key=self._key(epoch, "claim"))
            except RevertedError as error:
                if self.trading.read_provider(epoch, seller).claimable:
                    raise MarketError(f"what epoch {epoch} owes cannot be paid yet: {error.reason}") from error
        if self.trading.read_provider(epoch, seller, deep=True).claimable:
            raise MarketError(f"what epoch {epoch} paid is not deep enough in the chain yet")
        paid = self.trading.events(ev.Claimed, epoch=epoch)  # by us, or for us
        return sum(event.amount for event in paid if event.provider == seller)

    def _key(self, epoch: int, step: str) -> str:
        return f"{self.trading.address}/{epoch}/{step}"


def sent(done: Done, function: str) -> Sent:
    """What the journal keeps of a transaction."""
    return Sent(function=function, gas=done.gas, transaction=done.receipt.transaction)
