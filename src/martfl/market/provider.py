"""The seller: trains, commits, answers, delivers what was bought, checks what was published, and gets its money.

A provider is reactive: `handle` takes a request and gives a reply. Before it acts it looks at the chain, and before it
relies on anything of its own it has written it down: a provider that is killed and started again answers as before.
"""

import hashlib
import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from eth_account.signers.local import LocalAccount

from martfl.chain import events as ev
from martfl.chain.network import ChainError
from martfl.chain.state import EpochState, Phase, ProviderState
from martfl.chain.trading import Trading
from martfl.errors import MartflError
from martfl.market import messages as ms
from martfl.market.errors import MarketError, MessageError
from martfl.market.journal import Journal
from martfl.market.rules import check_code, check_contract, last_second
from martfl.market.sealing import seal
from martfl.market.settling import Settler
from martfl.market.task import Floats, Task
from martfl.market.terms import Terms
from martfl.scoring import scorer
from martfl.settlement.fixed_point import Integers, Overflow
from martfl.settlement.integer_file import IntegerVector, from_bytes, to_bytes

log = logging.getLogger(__name__)
PATIENCE, PAUSE = 600.0, 0.5  # seconds for a purchase to become deep, and between looks


@dataclass
class Provider:
    """One seller in one market."""

    terms: Terms
    task: Task
    data: Any
    trading: Trading
    settler: Settler
    journal: Journal
    account: LocalAccount
    name: str = ""
    overflow: Overflow = "clip"
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        check_code(self.trading)
        check_contract(self.terms, self.trading, parameters=self.settler.parameters)
        self.acquirer = self.trading.terms().acquirer

    # --- requests ------------------------------------------------------------------------------------------------

    def handle(self, request: bytes) -> bytes:
        """Answer a request; whatever is wrong with it becomes a refusal, never a crash."""
        epoch = 0
        try:
            message, sender = ms.decode(request, market=self.trading.address)
            epoch = message.epoch
            if sender.lower() != self.acquirer.lower():
                raise MessageError(f"requests are signed by the acquirer {self.acquirer}, this one by {sender}")
            with self._turn:
                reply = self._answer(message)
        except MartflError as error:
            log.info("refused a request: %s", error)
            reply = ms.Refusal(epoch=epoch, reason=ms.line(str(error)))
        except Exception:  # a node's words, or the organisation's own training code: nothing that the acquirer needs
            log.exception("a request could not be answered")
            reply = ms.Refusal(epoch=epoch, reason="the provider failed; its log says why")
        return ms.encode(reply, market=self.trading.address, account=self.account)

    def _answer(self, message: ms.Message) -> ms.Message:
        answers: dict[type[ms.Message], Callable[[Any], ms.Message]] = {
            ms.Challenge: self.identify,
            ms.TrainRequest: self.train,
            ms.ScoreRequest: self.score,
            ms.DeliverRequest: self.deliver,
            ms.Published: self.judge,
            ms.Closed: self.collect,
        }
        if type(message) not in answers:
            raise MessageError(f"a provider does not answer messages of kind {message.kind!r}")
        return answers[type(message)](message)

    def identify(self, request: ms.Challenge) -> ms.Identity:
        """Sign the challenge: this wallet answers for this node."""
        return ms.Identity(epoch=request.epoch, nonce=request.nonce, name=self.name)

    def train(self, request: ms.TrainRequest) -> ms.Committed:
        """Check the model against the chain, train on it, write the update down, commit to it."""
        epoch = request.epoch
        if self.journal.recall(epoch, "commit") is None and self.journal.blob(epoch, "secret") is None:
            state = self._open_epoch(epoch)
            self._check_model(request.body, state.base)
            self._prepare_update(epoch, request.body)
        return ms.Committed(epoch=epoch, transaction=self._commit(epoch))

    def score(self, request: ms.ScoreRequest) -> ms.ScoreReply:
        """The cosine under encryption, once for each of the baselines that the terms allow."""
        epoch, number = request.epoch, request.baseline
        state = self.trading.read_epoch(epoch)
        if state.phase is not Phase.OPEN or self.trading.chain.now() <= state.deadline:
            raise MarketError(f"scores are given after commitments close and before weights are set (epoch {epoch})")
        if not 0 <= number < self.terms.selection.baselines:
            raise MarketError(f"the terms allow {self.terms.selection.baselines} baselines, this is number {number}")
        digest = hashlib.sha256(request.body).hexdigest()
        if self.journal.once(epoch, f"baseline {number}", lambda: digest) != digest:
            raise MarketError(f"baseline {number} of epoch {epoch} was another one; each is answered once")
        name = f"score {number}"
        if (reply := self.journal.blob(epoch, name)) is None:
            reply = scorer(self.terms.selection.scorer).score(request.body, self._floats(epoch))
            self.journal.keep(epoch, name, reply)
        return ms.ScoreReply(epoch=epoch, baseline=number, body=reply)

    def deliver(self, request: ms.DeliverRequest) -> ms.Delivery:
        """Hand the update over, sealed to the acquirer: only when the chain says that it is bought."""
        epoch = request.epoch
        standing = self._bought(epoch)
        packed = self.settler.pack(self._integers(epoch), self._secret(epoch), epoch=epoch)
        context = f"{self.trading.address.lower()}/{epoch}/{self.account.address.lower()}".encode()
        sealed = seal(packed, to=_hex(request.key), context=context)
        if self.journal.recall(epoch, "delivered") is None:
            self.journal.record(epoch, "delivered", {"weight": standing.weight, "advance": standing.advance})
        return ms.Delivery(epoch=epoch, body=sealed)

    def judge(self, request: ms.Published) -> ms.Verdict:
        """Check the published file against the chain; object on chain where it is another model."""
        epoch = request.epoch
        try:
            self._check_model(request.body, epoch)
        except MarketError as error:
            self.journal.remark(epoch, self.acquirer, "false model", str(error))
            self.journal.once(epoch, "false file", lambda: hashlib.sha256(request.body).hexdigest())
            self._object(epoch)
            return ms.Verdict(epoch=epoch, accepted=False, reason=ms.line(str(error)))
        return ms.Verdict(epoch=epoch, accepted=True)

    def collect(self, request: ms.Closed) -> ms.Claimed:
        """Claim what the epoch owes."""
        return ms.Claimed(epoch=request.epoch, amount=str(self.claim(request.epoch)))

    # --- on its own ----------------------------------------------------------------------------------------------

    def watch(self) -> dict[int, int]:
        """Look after every epoch sold to: finish what was interrupted, expire what lapsed, claim. Epoch → wei."""
        claimed = {}
        for epoch in range(1, self.trading.epoch_count() + 1):
            with self._turn:
                if self.journal.recall(epoch, "claim") is not None or not self._has_sold(epoch):
                    continue
                self._object(epoch)
                self._defend(epoch)
                self._expire_if_late(epoch)
                if self.trading.read_epoch(epoch).phase.final:
                    claimed[epoch] = self.claim(epoch)
        return claimed

    def claim(self, epoch: int) -> int:
        """Take what a final epoch owes, once; the amount in wei."""
        if not self.trading.read_epoch(epoch).phase.final:
            raise MarketError(f"epoch {epoch} is not final yet")
        amount = int(self.journal.once(epoch, "claim", lambda: str(self._claim(epoch))))
        self.journal.forget(epoch)  # the epoch is over and paid: nobody can ask for the update any more
        return amount

    def _claim(self, epoch: int) -> int:
        standing = self.trading.read_provider(epoch, self.account.address)
        if standing.claimable:
            done = self.trading.claim_reward(epoch, account=self.account, key=self._key(epoch, "claim"))
            return done.event(ev.Claimed).amount
        if not standing.claimed:
            return 0
        paid = self.trading.events(ev.Claimed, epoch=epoch)  # sent just before a crash: the chain knows how much
        return sum(event.amount for event in paid if event.party == self.account.address)

    def _has_sold(self, epoch: int) -> bool:
        """Whether the epoch has our commitment; one that was ready when we were killed is sent now."""
        if self.journal.recall(epoch, "commit") is not None:
            return True
        if self.journal.blob(epoch, "secret") is None:
            return False
        try:
            self._commit(epoch)
        except ChainError as error:  # too late
            log.info("the update of epoch %d was never committed: %s", epoch, error)
            return False
        return True

    def _defend(self, epoch: int) -> None:
        """Sampled settlement: hold the acquirer to what it says about our update."""
        weight = self.trading.read_provider(epoch, self.account.address).weight
        if not weight or self.trading.read_epoch(epoch).phase not in (Phase.INPUTS, Phase.PROVED):
            return
        own = {"update": self._integers(epoch), "secret": self._secret(epoch)}
        key = self._key(epoch, "refute")
        if self.settler.defend(self.trading, epoch=epoch, account=self.account, key=key, **own):  # type: ignore[arg-type]
            self.journal.remark(epoch, self.acquirer, "false inputs", "the proof is not about our update")

    def _expire_if_late(self, epoch: int) -> None:
        state = self.trading.read_epoch(epoch)
        if state.phase.final or self.trading.chain.now() <= last_second(state, self.terms):
            return
        try:
            self.trading.expire(epoch, account=self.account)
            self.journal.remark(epoch, self.acquirer, "late", f"missed its deadline in phase {state.phase.name}")
        except ChainError as error:  # another provider was first
            log.info("epoch %d was not expired by us: %s", epoch, error)

    # --- steps ---------------------------------------------------------------------------------------------------

    def _open_epoch(self, epoch: int) -> EpochState:
        state = self.trading.read_epoch(epoch)
        if state.phase is not Phase.OPEN or self.trading.chain.now() > state.deadline:
            raise MarketError(f"epoch {epoch} takes no commitments any more (phase {state.phase.name})")
        if state.reward < self.terms.money.reward:
            raise MarketError(f"the terms promise {self.terms.money.reward} wei, epoch {epoch} holds {state.reward}")
        return state

    def _check_model(self, file: bytes, epoch: int) -> None:
        """Hold a file against the chain; one that was found right when it was published is not computed again."""
        digest = hashlib.sha256(file).hexdigest()
        known = self.journal.recall(epoch, "model checked")
        if known is None or known.value != digest:
            self.settler.check(self.trading, file, epoch=epoch)
            self.journal.once(epoch, "model checked", lambda: digest)

    def _bought(self, epoch: int) -> ProviderState:
        """Our standing in a block that counts; a purchase that a re-organisation may still undo is waited for."""
        deadline = time.monotonic() + PATIENCE
        while True:
            standing = self.trading.read_provider(epoch, self.account.address, deep=True)
            if standing.bought:
                return standing
            if not self.trading.read_provider(epoch, self.account.address).bought:
                raise MarketError(f"nothing was bought from {self.account.address} in epoch {epoch}")
            if time.monotonic() > deadline:
                raise MarketError(f"the purchase in epoch {epoch} is not deep enough in the chain yet")
            time.sleep(PAUSE)

    def _prepare_update(self, epoch: int, file: bytes) -> None:
        """Train and write down update, secret and nonce, all or none of them, before anything is said on chain."""
        seed = int.from_bytes(hashlib.sha256(f"{epoch}/{self.account.address}".encode()).digest()[:4], "big")
        update = self.make_update(self.settler.floats(file), seed=seed)
        quantised = self.settler.numbers.quantise(update, overflow=self.overflow)
        if quantised.clipped:
            log.warning("epoch %d: %d values were clipped to the market's range", epoch, quantised.clipped)
        commitment, secret = self.settler.commit(quantised.values)
        update_file = to_bytes(self._vector(quantised.values, epoch))
        nonce = secrets.token_bytes(32)
        self.journal.keep_all(
            epoch, {"update": update_file, "commitment": commitment, "nonce": nonce, "secret": secret}
        )

    def make_update(self, model: Floats, *, seed: int) -> Floats:
        """The update to sell, from the model to train on."""
        return self.task.train(model, self.data, seed=seed)

    def _commit(self, epoch: int) -> str:
        def send() -> dict[str, Any]:
            commitment, nonce = self.journal.blob(epoch, "commitment"), self.journal.blob(epoch, "nonce")
            if commitment is None or nonce is None:
                raise MarketError(f"there is no update for epoch {epoch} to commit to")
            done = self.trading.commit_model(
                epoch, commitment=commitment, nonce=nonce, account=self.account, key=self._key(epoch, "commit")
            )
            if done.event(ev.ModelCommitted).commitment != commitment:
                raise MarketError(f"another node has committed for {self.account.address} in epoch {epoch}")
            return {"transaction": done.receipt.transaction, "gas": done.gas}

        return str(self.journal.once(epoch, "commit", send)["transaction"])

    def _object(self, epoch: int) -> None:
        """Object to a false file, where there was one, while the window is open."""
        if (false := self.journal.recall(epoch, "false file")) is None:
            return
        standing = self.trading.read_provider(epoch, self.account.address)
        published = self.trading.read_epoch(epoch).phase is Phase.PUBLISHED
        if not published or not standing.weight or standing.dropped or standing.objected:
            return
        evidence, key = bytes.fromhex(false.value), self._key(epoch, "object")
        self.trading.object(epoch, account=self.account, evidence=evidence, key=key)

    def _integers(self, epoch: int) -> Integers:
        file = self.journal.blob(epoch, "update")
        if file is None:
            raise MarketError(f"there is no update of epoch {epoch}")
        return from_bytes(file, kind="update", parameters=self.settler.parameters).values

    def _floats(self, epoch: int) -> Floats:
        return np.asarray(self.settler.numbers.dequantise(self._integers(epoch)))

    def _secret(self, epoch: int) -> bytes:
        secret = self.journal.blob(epoch, "secret")
        if secret is None:
            raise MarketError(f"there is no commitment of epoch {epoch}")
        return secret

    def _vector(self, values: Integers, epoch: int) -> IntegerVector:
        numbers = self.settler.numbers
        return IntegerVector(kind="update", values=values, scale=numbers.scale, epoch=epoch, bits=numbers.bits)

    def _key(self, epoch: int, step: str) -> str:
        return f"{self.trading.address}/{epoch}/{step}"


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise MessageError("a public key is written in hexadecimal") from error
