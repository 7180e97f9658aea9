"""How an acquirer reaches providers, and how it waits. `martfl.federation` has the implementations."""

import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from martfl.chain.network import Chain


class Link(Protocol):
    """Carries signed messages; whoever does not answer in time is missing from the answers."""

    def members(self) -> Sequence[str]:
        """The addresses that can be asked."""

    def ask(self, requests: Mapping[str, bytes], *, kind: str, seconds: float) -> Mapping[str, bytes]:
        """Send each member its request, all of one kind and all at once, and gather what comes back."""


class Clock(Protocol):
    """The chain's time."""

    def wait_until(self, timestamp: int) -> None:
        """Return when the chain's latest block that counts is at `timestamp` or later."""

    def wait_for_block(self, number: int) -> None:
        """Return when the chain has a block of this number."""


class NoClock:
    """For parties that act and never wait.

    Examples:
        >>> NoClock().wait_until(1)
        Traceback (most recent call last):
            ...
        NotImplementedError: this party does not wait
    """

    def wait_until(self, timestamp: int) -> None:
        """Nothing waits here."""
        raise NotImplementedError("this party does not wait")

    def wait_for_block(self, number: int) -> None:
        """Nothing waits here."""
        raise NotImplementedError("this party does not wait")


class ChainClock:
    """Waits for a chain that has its own time, and until no re-organisation can change what came before.

    Examples:
        >>> from martfl.chain.embedded import EmbeddedChain
        >>> chain = EmbeddedChain()
        >>> moment = chain.now()
        >>> chain.travel(60)
        >>> ChainClock(chain).wait_until(moment + 30)  # is past: it does not wait
        >>> chain.now() - moment
        60
    """

    def __init__(self, chain: Chain, *, pause: float = 1.0) -> None:
        self.chain, self.pause = chain, pause

    def wait_until(self, timestamp: int) -> None:
        """Look again and again."""
        while counted_time(self.chain) < timestamp:
            time.sleep(self.pause)

    def wait_for_block(self, number: int) -> None:
        """Look again and again."""
        while self.chain.web3.eth.block_number < number:
            time.sleep(self.pause)


def counted_time(chain: Chain) -> int:
    """The time of the newest block that counts.

    Examples:
        >>> from martfl.chain.embedded import EmbeddedChain
        >>> chain = EmbeddedChain()
        >>> chain.travel(60)
        >>> counted_time(chain) == chain.now()
        True
    """
    return int(chain.web3.eth.get_block(chain.deep_block())["timestamp"])
