"""What the trading contracts say, as dataclasses; one class for each event, named as in the contract."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from eth_utils.abi import event_abi_to_log_topic
from web3.contract import Contract
from web3.types import LogReceipt


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event of one epoch."""

    epoch: int


@dataclass(frozen=True, kw_only=True)
class EpochOpened(Event):
    deadline: int
    nonce: bytes


@dataclass(frozen=True, kw_only=True)
class Deposited(Event):
    amount: int
    total: int


@dataclass(frozen=True, kw_only=True)
class ModelCommitted(Event):
    provider: str
    commitment: bytes
    nonce: bytes


@dataclass(frozen=True, kw_only=True)
class AdvanceBought(Event):
    providers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Prepared(Event):
    providers: tuple[str, ...]
    weights: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Dropped(Event):
    providers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ModelPublished(Event):
    """Exact settlement; epoch 0 is the initial model."""

    content: bytes
    blinding: int
    point: bytes  # (128,) EIP-2537


@dataclass(frozen=True, kw_only=True)
class RootPublished(Event):
    """Sampled settlement; epoch 0 is the initial model."""

    content: bytes
    root: bytes
    nonce: bytes
    seed: bytes


@dataclass(frozen=True, kw_only=True)
class Objected(Event):
    provider: str
    weight: int
    evidence: bytes


@dataclass(frozen=True, kw_only=True)
class RandomnessSubmitted(Event):
    randomness: bytes
    output: tuple[int, ...]  # (8,) words of y
    proof: tuple[int, ...]  # (8,) words of π
    counter: int


@dataclass(frozen=True, kw_only=True)
class InputsCommitted(Event):
    providers: tuple[str, ...]  # in the order of the circuit's slots
    inputs: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class EpochProved(Event):
    pass


@dataclass(frozen=True, kw_only=True)
class CommitmentRefuted(Event):
    provider: str


@dataclass(frozen=True, kw_only=True)
class EpochClosed(Event):
    phase: int


@dataclass(frozen=True, kw_only=True)
class Claimed(Event):
    party: str
    amount: int


KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in Event.__subclasses__()}
E = TypeVar("E", bound=Event)


def decode(contract: Contract, logs: Iterable[LogReceipt]) -> tuple[Event, ...]:
    """The contract's own events among `logs`, in order."""
    names = {event_abi_to_log_topic(abi): abi["name"] for abi in contract.abi if abi["type"] == "event"}
    return tuple(
        typed(name, contract.events[name]().process_log(log)["args"])
        for log in logs
        if log["address"] == contract.address and (name := names.get(bytes(log["topics"][0])))
    )


def only(kind: type[E], events: Iterable[Event]) -> E:
    """The one event of this kind."""
    (event,) = [event for event in events if isinstance(event, kind)]
    return event


def typed(name: str, values: Any) -> Event:
    """The event called `name`, out of web3's values."""
    kind = KINDS[name]
    return kind(**{field.name: _plain(values[field.name]) for field in fields(kind)})


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    return bytes(value) if isinstance(value, bytes | bytearray) else value
