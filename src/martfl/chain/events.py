"""What the trading contracts say, as dataclasses; one class for each event, named as in the contract."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from eth_utils.abi import event_abi_to_log_topic
from web3.contract import Contract
from web3.types import LogReceipt

from martfl.values import Settings


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event of one epoch."""

    epoch: int


@dataclass(frozen=True, kw_only=True)
class EpochOpened(Event):
    base: int


@dataclass(frozen=True, kw_only=True)
class Deposited(Event):
    amount: int
    total: int


@dataclass(frozen=True, kw_only=True)
class ModelCommitted(Event):
    provider: str
    digest: bytes


@dataclass(frozen=True, kw_only=True)
class Bought(Event):
    providers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Accepted(Event):
    providers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Revealed(Event):
    provider: str
    key: bytes


@dataclass(frozen=True, kw_only=True)
class Refuted(Event):
    provider: str
    leaf: int


@dataclass(frozen=True, kw_only=True)
class ModelPublished(Event):
    """Exact settlement; epoch 0 is the initial model."""

    content: bytes
    blinding: int
    point: bytes  # (128,) EIP-2537
    providers: tuple[str, ...]
    weights: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class RootPublished(Event):
    """Sampled settlement; epoch 0 is the initial model."""

    content: bytes
    root: bytes
    nonces: bytes
    providers: tuple[str, ...]  # in the order of the circuit's slots
    weights: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class EpochProved(Event):
    pass


@dataclass(frozen=True, kw_only=True)
class EpochFailed(Event):
    pass


@dataclass(frozen=True, kw_only=True)
class Claimed(Event):
    provider: str
    receiver: str
    amount: int


@dataclass(frozen=True, kw_only=True)
class Refunded(Event):
    amount: int


# --- of the prover, which serves many markets --------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ProverEvent(Event):
    """An event of a sampled proof."""

    market: str


@dataclass(frozen=True, kw_only=True)
class SamplesDrawn(ProverEvent):
    seed: bytes


@dataclass(frozen=True, kw_only=True)
class RandomnessSubmitted(ProverEvent):
    randomness: bytes
    output: tuple[int, ...]  # (8,) words of y
    proof: tuple[int, ...]  # (8,) words of π
    counter: int


@dataclass(frozen=True, kw_only=True)
class InputsCommitted(ProverEvent):
    providers: tuple[str, ...]
    inputs: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class CommitmentRefuted(ProverEvent):
    provider: str


@dataclass(frozen=True, kw_only=True)
class RandomnessRefuted(ProverEvent):
    pass


KINDS: dict[str, type[Event]] = {
    kind.__name__: kind for base in (Event, ProverEvent) for kind in base.__subclasses__() if kind is not ProverEvent
}
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


def typed(name: str, values: Settings) -> Event:
    """The event called `name`, out of web3's values."""
    kind = KINDS[name]
    return kind(**{field.name: _plain(values[field.name]) for field in fields(kind)})


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    return bytes(value) if isinstance(value, bytes | bytearray) else value
