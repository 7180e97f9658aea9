"""Asking providers: signed requests out, valid answers in, everything else is silence. Bytes are counted.

No answer is waited for beyond the second of the chain at which it stops being of use. Whatever is in an answer, it
never ends the program that asked: what cannot be read becomes a remark (`read`).
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from eth_account.signers.local import LocalAccount

from martfl.errors import MartflError
from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.journal import Journal
from martfl.market.link import Link
from martfl.market.steps import Traffic

log = logging.getLogger(__name__)
T = TypeVar("T")
ATTEMPTS = 2  # a provider that was killed while it worked is back by the second
SMALL = 1 << 20  # bytes of an answer that carries no vector
NO_ANSWER = "no valid answer"
REQUEST_FOR: dict[type[ms.Message], str] = {answer: request.kind for request, answer in ms.ANSWERS.items()}


@dataclass
class Asking:
    """One epoch's questions."""

    link: Link
    market: wire.MarketId
    account: LocalAccount
    journal: Journal
    epoch: int
    parameters: int
    seconds: float  # how long to wait for an answer at most
    now: Callable[[], int]  # the chain's clock
    sent: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ms.REQUESTS, 0))
    received: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ms.REQUESTS, 0))

    def ask(self, kind: type[ms.M], requests: Mapping[str, ms.Message], *, until: int) -> dict[str, ms.M]:
        """Valid answers of a kind, by second `until` of the chain.

        The silent are asked once more. An invalid answer counts as silence.
        """
        packed, asked = self._signed(requests), REQUEST_FOR[kind]
        answers: dict[str, ms.M] = {}
        for attempt in range(ATTEMPTS):
            seconds = min(self.seconds, until - self.now()) / (ATTEMPTS - attempt)
            if not packed or seconds <= 0:
                break
            for name in packed:
                self.sent[asked] += len(packed[name])
            replies = self.link.ask(packed, kind=asked, seconds=seconds)
            for name, data in replies.items():
                self.received[asked] += len(data)
                if (answer := self._understood(kind, name, data)) is not None:
                    answers[name] = answer
            packed = {name: request for name, request in packed.items() if name not in replies}
        return answers

    def read(self, kind: type[ms.Message], name: str, read: Callable[[], T]) -> T | None:
        """What an answer says, or a remark about its sender. `read` looks at the answer and at nothing else."""
        try:
            return read()
        except MartflError as error:
            reason = str(error)
        except Exception:  # nobody foresaw these bytes: they are as good as none
            log.exception("an answer of %s could not be read", name)
            reason = "cannot be read"
        log.info("no valid answer from %s: %s", name, reason)
        self.journal.remark(self.epoch, name, NO_ANSWER, f"{REQUEST_FOR[kind]}: {reason}")
        return None

    def traffic(self) -> Traffic:
        """What went over so far."""
        return Traffic(sent=dict(self.sent), received=dict(self.received))

    def _signed(self, requests: Mapping[str, ms.Message]) -> dict[str, bytes]:
        made: list[tuple[ms.Message, bytes]] = []  # one request for all is signed once
        packed = {}
        for name, message in requests.items():
            known = next((data for one, data in made if one is message), None)
            if known is None:
                known = wire.encode(message, market=self.market, account=self.account)
                made.append((message, known))
            packed[name] = known
        return packed

    def _understood(self, kind: type[ms.M], name: str, data: bytes) -> ms.M | None:
        most = SMALL + (16 * self.parameters if kind is ms.Sealed else 0)
        due = partial(wire.expect, kind, data, market=self.market, sender=name, epoch=self.epoch, most=most)
        return self.read(kind, name, due)
