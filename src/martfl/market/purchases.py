"""How updates change hands: sealed form first, then the purchase on chain, then the key. The acquirer's side.

A sealed update is checked before it is paid, so that after the purchase only the key can be missing or wrong. A wrong
key, or a leaf that is not what it was committed to, is refuted when the provider puts it on chain to be paid.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from eth_utils.crypto import keccak

from martfl.chain import events as ev
from martfl.chain.deployment import Deadlines
from martfl.chain.network import RevertedError
from martfl.chain.state import MAX_PROVIDERS, Offer, SaleState, price_of
from martfl.errors import MartflError
from martfl.market import messages as ms
from martfl.market.asking import Asking
from martfl.market.errors import MessageError
from martfl.market.journal import Journal
from martfl.market.sealing import SealingKey
from martfl.market.settling import Acting, Delivery, Settler
from martfl.market.steps import Answered, KeysTaken, Ordered, Purchased
from martfl.market.watching import sent
from martfl.settlement.seal import check_secret

log = logging.getLogger(__name__)
FORGED, MISSING, FALSE = "forged score", "missing key", "false update"
PAUSE = 15.0  # seconds between looks at the chain while something else is computed
OFFENCES = (FORGED, MISSING, FALSE)  # what a provider answers for


@dataclass
class Purchases:
    """What was bought in one epoch, and what of it is here."""

    act: Acting
    asking: Asking
    settler: Settler
    journal: Journal
    offers: Mapping[str, Offer]
    reward: int
    times: Deadlines
    margin: int
    here: dict[str, Delivery] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._orders = 0  # how many purchases this run has made or recalled
        for name in self.prices():
            self._recall(name)

    def prices(self) -> dict[str, int]:
        """Who was bought so far, at which price."""
        return {name: p for step in self.journal.all_of(Purchased, self.act.epoch) for name, p in step.prices.items()}

    def price(self, name: str) -> int:
        """What a purchase of this provider locks."""
        return price_of(self.offers[name].ask, self.reward)

    def buy(self, names: Sequence[str]) -> Sequence[str]:
        """Fetch sealed updates, buy those that are sound, ask for their keys. Afterwards `here` has what came.

        Orders are on record before anything is bought, deliveries before anything is told: a restarted acquirer
        orders the same, and sees the same.
        """
        label, epoch = str(self._orders), self.act.epoch
        self._orders += 1
        order = self.journal.once(epoch, Ordered, lambda: Ordered(providers=self._orderable(names)), label=label)
        if order.providers:
            self.journal.once(epoch, Purchased, lambda: self._send(order.providers, label), label=label)
        bought = self.prices()
        wanted = [name for name in names if name in bought]
        taken = self.journal.once(epoch, KeysTaken, lambda: KeysTaken(providers=self.fetch_keys(wanted)), label=label)
        return taken.providers

    def fetch_keys(self, names: Sequence[str]) -> tuple[str, ...]:
        """Fetch the missing keys from their sellers, or from the chain. Returns whose update is here then."""
        missing = [name for name in names if name not in self.here]
        request = ms.KeyRequest(epoch=self.act.epoch, key=self._sealing_key().public.hex())
        until = self.times.keys - self.margin  # afterwards keys come on chain
        answers = self.asking.ask(ms.KeyAnswer, dict.fromkeys(missing, request), until=until)
        given = {
            n: self.asking.read(ms.KeyAnswer, n, partial(self._read_key, n, answer)) for n, answer in answers.items()
        }
        secrets = {name: secret for name, secret in given.items() if secret is not None}
        revealed = {event.provider: event.key for event in self._reveals() if event.provider in missing}
        self._take({**revealed, **secrets})
        return tuple(name for name in names if name in self.here)

    # --- keys on chain ---------------------------------------------------------------------------------------------

    def answer_reveals(self) -> None:
        """Look at every key on chain that nobody has answered: accept what it opens, refute what it does not."""
        for event in self._reveals():
            if self._state(event.provider) is SaleState.REVEALED:
                try:
                    self._answer(event.provider, event.key)
                except RevertedError as error:  # somebody else refuted it in the same moment, or it is too late
                    log.warning("epoch %d: key of %s: %s", self.act.epoch, event.provider, error.reason)

    def look_now_and_then(self) -> Callable[[], None]:
        """`answer_reveals`, to be called as often as one likes while something else takes its time."""
        looked = time.monotonic()

        def look() -> None:
            nonlocal looked
            if time.monotonic() - looked < PAUSE:
                return
            try:
                self.answer_reveals()
            except MartflError as error:  # a node that is away for a while
                log.warning("epoch %d: keys on chain could not be answered now: %s", self.act.epoch, error)
            looked = time.monotonic()

        return look

    def blame_silent(self) -> None:
        """When no key can come any more: remember who was bought and gave none, to us or to the chain."""
        for name in self.prices():
            if self._state(name) is SaleState.BOUGHT:
                self.blame(name, MISSING, "gave no key for what was bought")

    def _reveals(self) -> list[ev.Revealed]:
        return self.act.trading.events(ev.Revealed, epoch=self.act.epoch)

    def _state(self, name: str) -> SaleState:
        return self.act.trading.read_provider(self.act.epoch, name).state

    def _answer(self, name: str, secret: bytes) -> None:
        refutation = self.settler.refutation(self._body(name), secret)
        epoch, trading, account = self.act.epoch, self.act.trading, self.act.account
        key = self.act.key(f"answer {name}")

        def accept() -> Answered:
            done = trading.accept(epoch, providers=[name], account=account, key=key)
            return Answered(provider=name, refuted=None, sent=sent(done, "accept"))

        def refute() -> Answered:
            assert refutation is not None
            self.blame(name, FALSE, "its key opens something else than it committed to")
            offer = self.offers[name]
            done = trading.refute(epoch, offer=offer, refutation=refutation, account=account, key=key)
            return Answered(provider=name, refuted=refutation.index, sent=sent(done, "refute"))

        self.journal.once(epoch, Answered, accept if refutation is None else refute, label=name)

    # --- parts -----------------------------------------------------------------------------------------------------

    def _fetch_sealed(self, names: Sequence[str]) -> set[str]:
        """Ask for sealed updates; those that are what their offers say are kept."""
        kept = {name for name in names if self.journal.blob(self.act.epoch, f"sealed {name}") is not None}
        missing = [name for name in names if name not in kept]
        request = ms.SealedRequest(epoch=self.act.epoch, key=self._sealing_key().public.hex())
        answers = self.asking.ask(ms.Sealed, dict.fromkeys(missing, request), until=self.times.buy)
        for name, answer in answers.items():
            body = self.asking.read(ms.Sealed, name, partial(self._read_sealed, name, answer))
            if body is not None:
                self.journal.keep(self.act.epoch, f"sealed {name}", body)
                kept.add(name)
        return kept

    def _orderable(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of them who are not bought yet, sent a sound sealed update, and can be paid; in the same order.

        At most as many as fit in one transaction.
        """
        bought = self.prices()
        sealed = self._fetch_sealed([name for name in names if name not in bought])
        left = self.reward - sum(bought.values())
        chosen: list[str] = []
        for name in names:
            if name in sealed and self.price(name) <= left and len(chosen) < MAX_PROVIDERS:
                left -= self.price(name)
                chosen.append(name)
        return tuple(chosen)

    def _send(self, names: Sequence[str], label: str) -> Purchased:
        offers, key = [self.offers[name] for name in names], self.act.key(f"buy {label}")
        try:
            done = self.act.trading.buy(self.act.epoch, offers=offers, account=self.act.account, key=key)
        except RevertedError as error:  # too late: what was bought before can still be published
            log.warning("epoch %d: nothing more can be bought: %s", self.act.epoch, error.reason)
            return Purchased(prices={}, sent=None)
        return Purchased(prices={name: self.price(name) for name in names}, sent=sent(done, "buy"))

    def _read_sealed(self, name: str, answer: ms.Sealed) -> bytes:
        body = self._sealing_key().open(answer.body, context=self._context(name, "update"))
        self.settler.check_sealed(body, self.offers[name])
        return body

    def _read_key(self, name: str, answer: ms.KeyAnswer) -> bytes:
        """A key of the form that the chain would take too, and the one that was committed to."""
        secret = check_secret(self._sealing_key().open(answer.body, context=self._context(name, "key")))
        if keccak(secret) != self.offers[name].key_hash:
            raise MessageError("it is not the key that was committed to")
        return secret

    def _take(self, secrets: Mapping[str, bytes]) -> None:
        """Open what came; keep the keys of what is what it was committed to, put the others on record."""
        opened = {name: self._opened(name, secret) for name, secret in secrets.items()}
        false = self.settler.find_false(opened)
        for name, delivery in opened.items():
            if name in false:
                self.blame(name, FALSE, "its key opens something else than it committed to")
            else:
                self.journal.keep(self.act.epoch, f"key {name}", delivery.secret)
                self.here[name] = delivery

    def _opened(self, name: str, secret: bytes) -> Delivery:
        body = self._body(name)
        return Delivery(self.offers[name], body, secret, self.settler.open_sealed(body, secret))

    def _recall(self, name: str) -> None:
        if (secret := self.journal.blob(self.act.epoch, f"key {name}")) is not None:
            self.here[name] = self._opened(name, secret)

    def _body(self, name: str) -> bytes:
        return self.journal.blob(self.act.epoch, f"sealed {name}") or b""

    def _context(self, name: str, what: str) -> bytes:
        return self.asking.market.context(self.act.epoch, name, what)

    def _sealing_key(self) -> SealingKey:
        if self.journal.blob(self.act.epoch, "sealing key") is None:
            self.journal.keep(self.act.epoch, "sealing key", SealingKey.generate().secret)
        return SealingKey(self.journal.blob(self.act.epoch, "sealing key") or b"")

    def blame(self, name: str, kind: str, detail: str) -> None:
        """Remember what a provider did."""
        log.info("epoch %d: %s: %s (%s)", self.act.epoch, name, kind, detail)
        self.journal.remark(self.act.epoch, name, kind, detail)
