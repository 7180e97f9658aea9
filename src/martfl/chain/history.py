"""A market's past as its chain tells it: every event of every epoch, with its block, time and transaction.

What the prover of a sampled market said about it is part of it. Audit and dashboard read this, and nothing else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from eth_typing import BlockNumber, HexStr
from web3.contract import Contract
from web3.types import FilterParams, LogReceipt

from martfl.chain import events as ev
from martfl.chain.trading import Trading

E = TypeVar("E", bound=ev.Event)


@dataclass(frozen=True)
class PastEvent:
    """One event, and where in the chain it is."""

    event: ev.Event
    block: int
    at: int  # the block's timestamp
    transaction: str  # 0x…


@dataclass(frozen=True)
class History:
    """Everything that the market's contracts said, oldest first."""

    entries: tuple[PastEvent, ...]

    def of(self, kind: type[E], epoch: int) -> list[E]:
        """The events of a kind in one epoch."""
        return [e.event for e in self.entries if isinstance(e.event, kind) and e.event.epoch == epoch]

    def entries_of(self, kind: type[ev.Event], epoch: int) -> list[PastEvent]:
        """The events of a kind in one epoch, with their blocks and transactions."""
        return [e for e in self.entries if isinstance(e.event, kind) and e.event.epoch == epoch]

    def times(self, kind: type[ev.Event], epoch: int) -> list[int]:
        """When they happened."""
        return [e.at for e in self.entries_of(kind, epoch)]

    def epochs(self) -> Sequence[int]:
        """The epochs that were opened."""
        return sorted({e.event.epoch for e in self.entries if isinstance(e.event, ev.EpochOpened)})

    def bought(self, epoch: int) -> list[str]:
        """Who was bought, in the order of purchase."""
        return [name for event in self.of(ev.Bought, epoch) for name in event.providers]

    def published(self, epoch: int) -> list[ev.ModelPublished | ev.RootPublished]:
        """The models that an epoch published; 0 is the initial one."""
        return [*self.of(ev.ModelPublished, epoch), *self.of(ev.RootPublished, epoch)]

    def weights(self, epoch: int) -> dict[str, int]:
        """Who is in the published aggregate, at which weight."""
        pairs = [zip(event.providers, event.weights, strict=True) for event in self.published(epoch)]
        return {name: weight for pair in pairs for name, weight in pair}


def read_history(trading: Trading) -> History:
    """All events about the market since its deployment."""
    found = [(log, trading.contract) for log in _logs(trading, trading.contract)]
    if (prover := trading.prover) is not None:
        found += [(log, prover) for log in _logs(trading, prover, about=trading.address)]
    found.sort(key=lambda pair: (pair[0]["blockNumber"], pair[0]["logIndex"]))
    times = _times(trading, {log["blockNumber"] for log, _ in found})
    return History(
        tuple(
            PastEvent(event, log["blockNumber"], times[log["blockNumber"]], "0x" + bytes(log["transactionHash"]).hex())
            for log, contract in found
            for event in ev.decode(contract, [log])
        )
    )


def _logs(trading: Trading, contract: Contract, *, about: str = "") -> Sequence[LogReceipt]:
    """What a contract logged; `about` is the first indexed word that is wanted."""
    wanted: FilterParams = {
        "address": contract.address,
        "fromBlock": BlockNumber(trading.since),
        "toBlock": "latest",
    }
    if about:
        wanted["topics"] = [None, HexStr("0x" + about[2:].lower().rjust(64, "0"))]
    return trading.chain.web3.eth.get_logs(wanted)


def _times(trading: Trading, blocks: Iterable[int]) -> dict[int, int]:
    web3 = trading.chain.web3
    return {number: int(web3.eth.get_block(BlockNumber(number))["timestamp"]) for number in blocks}
