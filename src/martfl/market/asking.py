"""Asking providers: signed requests out, valid answers in, everything else is silence. Bytes are counted.

No answer is waited for beyond the second of the chain at which it stops being of use.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from eth_account.signers.local import LocalAccount

from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.errors import MessageError
from martfl.market.journal import Journal
from martfl.market.link import Link
from martfl.market.steps import Traffic

log = logging.getLogger(__name__)
ATTEMPTS = 2  # a provider that was killed while it worked is back by the second
SMALL = 1 << 20  # bytes of an answer that carries no vector
NO_ANSWER = "no valid answer"
REQUEST_FOR: dict[type[ms.Message], str] = {answer: request.kind for request, answer in ms.ANSWERS.items()}


@dataclass
class Asking:
    """One epoch's questions."""

    link: Link
    market: wire.Market
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

        The silent are asked once more; who sends anything else is treated as silent.
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
        try:
            return wire.expect(kind, data, market=self.market, sender=name, epoch=self.epoch, most=most)
        except MessageError as error:
            log.info("no valid answer from %s: %s", name, error)
            self.journal.remark(self.epoch, name, NO_ANSWER, f"{REQUEST_FOR[kind]}: {error}")
            return None
