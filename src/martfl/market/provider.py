"""The seller: trains, commits, answers, gives its key when it is bought, and sees to it that it is paid.

A provider is reactive: `handle` takes a request and gives a reply. Before it acts it looks at the chain, and before it
relies on anything of its own it has written it down: a provider that is killed and started again answers as before.
What must happen on chain in time happens whether anybody asks for it or not: `watch` sees to it (`watching`). It waits
for no request, since training may take longer than the time that is left.
"""

import hashlib
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from eth_account.signers.local import LocalAccount

from martfl.chain.network import ChainError
from martfl.chain.trading import Trading
from martfl.errors import MartflError
from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.conduct import Conduct, Honest
from martfl.market.errors import MarketError, MessageError
from martfl.market.guard import Guard
from martfl.market.journal import Journal
from martfl.market.meter import ANSWERS, Meter, Stall
from martfl.market.models import keep_model
from martfl.market.paying import read_appraisal
from martfl.market.rules import check_code, check_contract
from martfl.market.sealing import seal
from martfl.market.settling import Settler
from martfl.market.shelf import Shelf
from martfl.market.sketching import check_draw, entries_of, make_scorer
from martfl.market.steps import Appraised, BaselineSeen, Joined, KeyGiven, ModelChecked
from martfl.market.task import check_task
from martfl.market.terms import Terms
from martfl.market.watching import Watching
from martfl.market.windows import Windows
from martfl.settlement.fixed_point import Overflow
from martfl.tasks.protocol import Data, Task, as_task

log = logging.getLogger(__name__)


@dataclass
class Provider:
    """One seller in one market.

    Examples:
        >>> from pathlib import Path
        >>> from martfl.demo.build import open_demo
        >>> from martfl.demo.options import remembered_options
        >>> market = Path('market')
        >>> with open_demo(remembered_options(market), market) as demo:
        ...     seller = demo.acquirer.clock.watchers[1]
        ...     request = ms.Challenge(epoch=1, nonce='ab' * 16)
        ...     reply = seller.handle(wire.encode(request, market=seller.market, account=demo.acquirer.account))
        >>> wire.decode(reply, market=seller.market)[0].name
        'Birch'
    """

    terms: Terms
    task: Task
    data: Data
    trading: Trading
    settler: Settler
    journal: Journal
    meter: Meter
    account: LocalAccount
    name: str = ""
    ask: int | None = None  # what an update costs; the terms' ask where it is not named
    answers: int = ANSWERS  # scores for one buyer between two sales, at most; the terms may ask for fewer
    overflow: Overflow = "clip"
    conduct: Conduct = field(default_factory=Honest)
    trusting: bool = False  # give keys though this wallet could not pay to put one on chain
    _turn: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        self.task = check_task(self.terms, as_task(self.task))
        check_code(self.trading)
        check_contract(self.terms, self.trading, self.settler)
        self.acquirer = self.trading.terms().acquirer
        self.market = wire.MarketId(self.trading.chain.chain_id, self.trading.address)
        self._check_journal()
        price = self.terms.money.ask if self.ask is None else self.ask
        if not 0 <= price <= self.terms.money.reward:
            raise MarketError(f"an ask lies in 0..{self.terms.money.reward}, the reward, got {price}")
        if self.answers < self.terms.scoring.baselines:
            raise MarketError(
                f"an epoch here asks for {self.terms.scoring.baselines} scores, you give a buyer {self.answers} "
                "between two sales: allow more, or do not sell here"
            )
        chain_id, contract, token = self.market.chain_id, self.market.contract, self.terms.money.token
        self.stall = Stall(chain_id=chain_id, market=contract, buyer=self.acquirer, token=token)
        self.shelf = Shelf(self.settler, self.journal, self.market, self.account.address, price, self.overflow)
        seen = (self.trading, self.journal, self.account, self.shelf, self.meter, self.stall)
        self.windows = Windows(self.terms.deadlines.margin, *seen)
        self.guard = Guard(self.terms, self.trading, self.account, self.shelf, self.windows, self.trusting)
        parts = (self.terms, self.trading, self.settler, self.journal, self.account, self.shelf)
        self.watching = Watching(*parts, self.windows, self._sold)

    # --- requests ------------------------------------------------------------------------------------------------

    def handle(self, request: bytes) -> bytes:
        """Answer a request; whatever is wrong with it becomes a refusal, never a crash."""
        epoch = 0
        try:
            message, sender = wire.decode(request, market=self.market)
            epoch = message.epoch
            if sender.lower() != self.acquirer.lower():
                raise MessageError(f"requests are signed by the acquirer {self.acquirer}, this one by {sender}")
            self.guard.wait_for_depth(message)
            with self._turn:
                reply = self._answer(message)
        except ChainError as error:
            log.warning("a request could not be answered: %s", error)  # about our node: nobody else's business
            reply = ms.Refusal(epoch=epoch, reason="the provider could not ask its chain")
        except MartflError as error:
            log.info("refused a request: %s", error)
            reply = ms.Refusal(epoch=epoch, reason=wire.line(str(error)))
        except Exception:  # a node's words, or the organisation's own training code: nothing that the acquirer needs
            log.exception("a request could not be answered")
            reply = ms.Refusal(epoch=epoch, reason="the provider failed; its log says why")
        return wire.encode(reply, market=self.market, account=self.account)

    def _answer(self, message: ms.Message) -> ms.Message:
        answers: dict[type[ms.Message], Callable[[Any], ms.Message]] = {
            ms.Challenge: self.identify,
            ms.TrainRequest: self.train,
            ms.OfferRequest: self.offer,
            ms.ScoreRequest: self.score,
            ms.SealedRequest: self.sealed,
            ms.KeyRequest: self.key,
            ms.PublishedFile: self.judge,
            ms.Closed: self.collect,
        }
        if type(message) not in answers:
            raise MessageError(f"a provider does not answer messages of kind {message.kind!r}")
        return answers[type(message)](message)

    def identify(self, request: ms.Challenge) -> ms.Identity:
        """Sign the challenge: this wallet answers for this node."""
        return ms.Identity(epoch=request.epoch, nonce=request.nonce, name=self.name)

    def train(self, request: ms.TrainRequest) -> ms.Committed:
        """Check the model against the chain, train on it, seal the update, sign the commitment to it."""
        epoch = request.epoch
        if not self.shelf.holds(epoch):
            base = self.guard.check_open(epoch)
            self._check_model(request.body, base)
            self.shelf.fill(epoch, request.body, self.conduct, self.task, self.data)
        signed = self.watching.signed_commit(epoch)
        return ms.Committed(epoch=epoch, digest=signed.digest.hex(), signature=signed.signature.hex())

    def offer(self, request: ms.OfferRequest) -> ms.Offered:
        """Show what opens our commitment: only when nobody can make one after it any more."""
        self.guard.check_trading(request.epoch)
        mine = self.guard.committed_offer(request.epoch)
        return ms.Offered(
            epoch=request.epoch,
            root=mine.root.hex(),
            key_hash=mine.key_hash.hex(),
            ask=str(mine.ask),
            body=mine.commitment,
        )

    def score(self, request: ms.ScoreRequest) -> ms.Scored:
        """The cosine under encryption: once for each baseline that the terms allow, and metered."""
        epoch, number = request.epoch, request.baseline
        closed = self.guard.check_trading(epoch).commit
        self.guard.committed_offer(epoch)
        if not 0 <= number < self.terms.scoring.baselines:
            raise MarketError(f"the terms allow {self.terms.scoring.baselines} baselines, this is number {number}")
        if entries_of(self.terms.scoring, parameters=self.settler.parameters):
            check_draw(self.trading, number=request.block, closed=closed)
        digest = hashlib.sha256(request.body + request.block.to_bytes(8, "big")).hexdigest()
        seen = self.journal.once(epoch, BaselineSeen, lambda: BaselineSeen(digest=digest), label=str(number))
        if seen.digest != digest:
            raise MarketError(f"baseline {number} of epoch {epoch} was another one; each is answered once")
        name = f"score {number}"
        if (reply := self.journal.blob(epoch, name)) is None:
            limit, ask = min(self.answers, self.terms.scoring.answers), self.shelf.ask
            self.meter.spend(self.stall, epoch=epoch, baseline=number, digest=digest, ask=ask, limit=limit)
            reply = self._score(epoch, request)
            self.journal.keep(epoch, name, reply)
        return ms.Scored(epoch=epoch, baseline=number, body=reply)

    def sealed(self, request: ms.SealedRequest) -> ms.Sealed:
        """The sealed update, which nobody can open without the key that is not for sale yet."""
        epoch = request.epoch
        self.guard.check_trading(epoch)
        self.guard.committed_offer(epoch)
        return ms.Sealed(epoch=epoch, body=self._sealed_to(request.key, self.shelf.body(epoch), epoch, "update"))

    def key(self, request: ms.KeyRequest) -> ms.KeyAnswer:
        """The key of a bought update, while there is time to put it on chain if the buyer denies it."""
        epoch = request.epoch
        price = self.guard.price(epoch)
        self.journal.once(epoch, KeyGiven, lambda: KeyGiven(price=price))
        self._sold(epoch, price)
        return ms.KeyAnswer(epoch=epoch, body=self._sealed_to(request.key, self.shelf.secret(epoch), epoch, "key"))

    def judge(self, request: ms.PublishedFile) -> ms.FileVerdict:
        """Check the published file against the chain, and remember a false one."""
        if not self.trading.events(self.trading.published, epoch=request.epoch):
            raise MarketError(f"epoch {request.epoch} has published no model")
        try:
            self._check_model(request.body, request.epoch)
        except MarketError as error:
            self.journal.remark(request.epoch, self.acquirer, "false model", str(error))
            return ms.FileVerdict(epoch=request.epoch, accepted=False, reason=wire.line(str(error)))
        base = self.trading.read_epoch(request.epoch).base
        keep_model(self.journal.folder, request.epoch, request.body, self._located(), base=base)
        return ms.FileVerdict(epoch=request.epoch, accepted=True)

    def collect(self, request: ms.Closed) -> ms.ClaimPaid:
        """See what the epoch paid; claim what it still owes; then note what our update is said to have added."""
        amount = self.claim(request.epoch)
        if request.body:
            self.journal.once(request.epoch, Appraised, lambda: read_appraisal(request.body))
        return ms.ClaimPaid(epoch=request.epoch, amount=str(amount))

    # --- on its own ----------------------------------------------------------------------------------------------

    def watch(self) -> dict[int, int]:
        """Look after every epoch sold to: reveal, commit, refute, claim. Epoch → wei that came in."""
        return self.watching.look()

    def due(self) -> int | None:
        """The next second at which `watch` must be called."""
        return self.watching.due()

    def leave(self) -> None:
        """This program ends: other markets of the wallet make room for keys that are out, and for nothing else."""
        self.windows.leave()

    def claim(self, epoch: int) -> int:
        """Take what a final epoch owes, once; the amount in wei."""
        return self.watching.claim(epoch)

    # --- parts ---------------------------------------------------------------------------------------------------

    def _located(self) -> Terms:
        """The terms, and where the market is, for whoever reads them beside the model."""
        return replace(self.terms, chain=replace(self.terms.chain, contract=self.trading.address))

    def _check_journal(self) -> None:
        mine = Joined(chain=self.market.chain_id, contract=self.market.contract, wallet=self.account.address)
        if (found := self.journal.once(0, Joined, lambda: mine)) != mine:
            raise MarketError(
                f"the journal in {self.journal.folder} is of {found.wallet} in the market {found.contract} on chain "
                f"{found.chain}: this is {mine.wallet} in {mine.contract} on chain {mine.chain}"
            )

    def _sold(self, epoch: int, price: int) -> None:
        self.meter.sold(self.stall, epoch=epoch, price=price)

    def _score(self, epoch: int, request: ms.ScoreRequest) -> bytes:
        scoring, size = self.terms.scoring, self.settler.parameters
        chosen = make_scorer(self.trading, scoring, parameters=size, epoch=epoch, number=request.block)
        return bytes(chosen.score(request.body, np.asarray(self.shelf.scored(epoch))))

    def _sealed_to(self, key: str, body: bytes, epoch: int, what: str) -> bytes:
        context = self.market.context(epoch, self.account.address, what)
        return seal(body, to=_hex(key), context=context)

    def _check_model(self, file: bytes, epoch: int) -> None:
        """Hold a file against the chain; one that was found right when it was published is not computed again."""
        digest = hashlib.sha256(file).hexdigest()
        known = self.journal.recall(epoch, ModelChecked)
        if known is None or known.digest != digest:
            self.settler.check(self.trading, file, epoch=epoch)
            self.journal.once(epoch, ModelChecked, lambda: ModelChecked(digest=digest))


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise MessageError("a public key is written in hexadecimal") from error
