"""Parties in one process: for tests, the demo, and a market on one machine."""

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from martfl.chain.embedded import EmbeddedChain

log = logging.getLogger(__name__)
Handler = Callable[[bytes], bytes]


@dataclass
class LocalLink:
    """Calls each provider's handler; one that raises did not answer.

    Examples:
        >>> link = LocalLink({'Alder': bytes.upper, 'Birch': lambda request: None})
        >>> link.ask({'Alder': b'train', 'Birch': b'train'}, kind='train', seconds=5)
        {'Alder': b'TRAIN'}
    """

    handlers: Mapping[str, Handler]
    workers: int = 2

    def members(self) -> Sequence[str]:
        """Everybody with a handler."""
        return list(self.handlers)

    def ask(self, requests: Mapping[str, bytes], *, kind: str, seconds: float) -> Mapping[str, bytes]:
        """All at once, `workers` at a time. In one process there is nothing to route or to wait for."""
        with ThreadPoolExecutor(self.workers) as pool:
            answers = dict(zip(requests, pool.map(self._one, requests.items()), strict=True))
        return {name: answer for name, answer in answers.items() if answer is not None}

    def _one(self, request: tuple[str, bytes]) -> bytes | None:
        name, data = request
        if name not in self.handlers:  # committed on chain, and cannot be reached
            return None
        try:
            return self.handlers[name](data)
        except Exception:  # a provider that breaks must not break the market
            log.exception("provider %s failed", name)
            return None


class ChainWatcher(Protocol):
    """A party that must look at the chain in time."""

    def due(self) -> int | None:
        """The next second at which it must."""

    def watch(self) -> object:
        """Look."""


@dataclass(frozen=True)
class EmbeddedClock:
    """The embedded chain has no time of its own: waiting moves it on, with a stop wherever somebody must look.

    Examples:
        >>> chain = EmbeddedChain()
        >>> start = chain.now()
        >>> EmbeddedClock(chain).wait_until(start + 3600)
        >>> chain.now() - start
        3600
    """

    chain: EmbeddedChain
    watchers: Sequence[ChainWatcher] = ()

    def wait_until(self, timestamp: int) -> None:
        """Travel there, if it is not past, and stop wherever somebody must look at the chain."""
        self._look()
        while (now := self.chain.now()) < timestamp:
            moments = [due for watcher in self.watchers if (due := watcher.due()) is not None and due > now]
            self.chain.travel_to(min([timestamp, *moments]))
            self._look()

    def wait_for_block(self, number: int) -> None:
        """Close empty blocks until there are enough."""
        while self.chain.web3.eth.block_number < number:
            self.chain.travel(1)

    def _look(self) -> None:
        for watcher in self.watchers:
            try:
                watcher.watch()
            except Exception:  # one that breaks must not break the others
                log.exception("somebody failed to look after its epochs")
