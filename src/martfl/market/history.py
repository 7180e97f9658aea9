"""A market's past as its chain tells it: every event of every epoch, with the time of its block."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from eth_typing import BlockNumber
from hexbytes import HexBytes
from web3.types import FilterParams

from martfl.chain import events as ev
from martfl.chain.trading import Trading

E = TypeVar("E", bound=ev.Event)


@dataclass(frozen=True)
class Entry:
    """One event and when it happened."""

    event: ev.Event
    block: int
    at: int  # the block's timestamp
    transaction: HexBytes


@dataclass(frozen=True)
class History:
    """Everything that the contract said, oldest first."""

    entries: tuple[Entry, ...]

    def of(self, kind: type[E], epoch: int) -> list[E]:
        """The events of a kind in one epoch."""
        return [e.event for e in self.entries if isinstance(e.event, kind) and e.event.epoch == epoch]

    def entries_of(self, kind: type[ev.Event], epoch: int) -> list[Entry]:
        """… with their blocks and transactions."""
        return [e for e in self.entries if isinstance(e.event, kind) and e.event.epoch == epoch]

    def times(self, kind: type[ev.Event], epoch: int) -> list[int]:
        """When they happened."""
        return [e.at for e in self.entries_of(kind, epoch)]

    def epochs(self) -> Sequence[int]:
        """The epochs that were opened."""
        return sorted({e.event.epoch for e in self.entries if isinstance(e.event, ev.EpochOpened)})

    def dropped(self, epoch: int) -> set[str]:
        """Who was taken out."""
        return {name for event in self.of(ev.Dropped, epoch) for name in event.providers}

    def advance(self, epoch: int) -> list[str]:
        """Who was bought in advance."""
        return [name for event in self.of(ev.AdvanceBought, epoch) for name in event.providers]

    def weights(self, epoch: int) -> dict[str, int]:
        """What was prepared; nothing where nobody was bought."""
        pairs = [zip(event.providers, event.weights, strict=True) for event in self.of(ev.Prepared, epoch)]
        return {name: weight for pair in pairs for name, weight in pair}


def read_history(trading: Trading) -> History:
    """All events of the contract since its deployment."""
    web3 = trading.chain.web3
    wanted: FilterParams = {"address": trading.address, "fromBlock": BlockNumber(trading.since), "toBlock": "latest"}
    logs = sorted(web3.eth.get_logs(wanted), key=lambda log: (log["blockNumber"], log["logIndex"]))
    times = {number: int(web3.eth.get_block(number)["timestamp"]) for number in {log["blockNumber"] for log in logs}}
    return History(
        tuple(
            Entry(event, log["blockNumber"], times[log["blockNumber"]], log["transactionHash"])
            for log in logs
            for event in ev.decode(trading.contract, [log])
        )
    )
