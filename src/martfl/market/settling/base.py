"""What both settlement schemes offer to the roles."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from eth_account.signers.local import LocalAccount
from numpy.typing import NDArray

from martfl.arrays import Integers, Reals
from martfl.chain.deployment import ExactStart, SampledStart
from martfl.chain.state import Listing, Offer
from martfl.chain.trading import Done, Trading
from martfl.errors import InputError
from martfl.market.audit_record import EpochRecord, Question
from martfl.market.errors import MarketError
from martfl.market.link import Clock
from martfl.market.terms import Terms
from martfl.settlement.fixed_point import Overflow, Quantised
from martfl.settlement.integer_file import IntegerVector, from_bytes
from martfl.values import Settings

if TYPE_CHECKING:  # an auditor has no library for proofs
    from martfl.settlement.exact.false_leaf import ExactRefutation
    from martfl.settlement.sampled.sealed import SampledRefutation


@dataclass(frozen=True, eq=False)
class SealedUpdate:
    """An update as it is committed to and sent before it is paid; nothing here is secret."""

    commitment: bytes
    root: bytes
    body: bytes


@dataclass(frozen=True, eq=False)
class Delivery:
    """A sealed update, its key, and the quantised update that it opens to."""

    offer: Offer
    body: bytes
    secret: bytes
    values: Integers  # [m]


@dataclass(frozen=True, eq=False)
class Share:
    """A delivery and its integer weight in the aggregate."""

    delivery: Delivery
    weight: int

    def listing(self) -> Listing:
        """As the contract lists it."""
        return Listing(offer=self.delivery.offer, weight=self.weight)


Shares = Mapping[str, Share]


@dataclass(frozen=True)
class Acting:
    """A party in one epoch: what it signs and waits with, and what it does during long computations."""

    trading: Trading
    account: LocalAccount
    clock: Clock
    epoch: int
    meanwhile: Callable[[], None] = lambda: None

    def key(self, step: str) -> str:
        """The name under which the chain sends a step once."""
        return f"{self.trading.address}/{self.epoch}/{step}"


def read_model(file: bytes, *, parameters: int) -> IntegerVector:
    """The model in a file; `MarketError` where there is none of this size."""
    try:
        return from_bytes(file, kind="model", parameters=parameters)
    except InputError as error:
        raise MarketError(f"the model file is malformed: {error}") from error


class Numbers(Protocol):
    """How real updates become integers and back."""

    @property
    def scale(self) -> float:
        """The real value of one unit."""

    @property
    def bits(self) -> int:
        """Every integer fits this many bits, two's complement."""

    def quantise(self, update: NDArray[np.float64], *, overflow: Overflow) -> Quantised:
        """Integers; what is out of range is refused or clipped and counted."""

    def dequantise(self, values: Integers) -> NDArray[np.float64]:
        """The numbers that the integers stand for."""


class Settler(Protocol):
    """One scheme in one market. Models and updates are integer vectors."""

    @classmethod
    def load(cls, terms: Terms, *, parameters: int) -> Self:
        """From the terms."""

    @property
    def parameters(self) -> int:
        """The length m of every vector."""

    @property
    def numbers(self) -> Numbers:
        """How updates become integers."""

    @property
    def slots(self) -> int:
        """How many providers one aggregate can take."""

    # --- providers ---

    def seal(self, update: Integers, secret: bytes) -> SealedUpdate:
        """Commit to an update and seal it under a key that is used once."""

    def defend(self, act: Acting, offer: Offer, update: Integers, secret: bytes) -> Done | None:
        """Refute on chain what the acquirer claims falsely about this update; None where all is well."""

    # --- the acquirer ---

    def check_sealed(self, body: bytes, offer: Offer) -> None:
        """Raise unless a sealed update is what the offer says; before it is paid, and without its key."""

    def open_sealed(self, body: bytes, secret: bytes) -> Integers:
        """What a sealed update opens to; whether that is what it was committed to is `find_false`'s question."""

    def find_false(self, deliveries: Mapping[str, Delivery]) -> set[str]:
        """The providers whose update is not what they committed to."""

    def refutation(self, body: bytes, secret: bytes) -> "ExactRefutation | SampledRefutation | None":
        """What refutes a sealed update on chain; None where it is sound."""

    def start(self, model: Reals) -> ExactStart | SampledStart:
        """What the contract is deployed with."""

    def first_file(self, model: Reals) -> bytes:
        """The initial model as a file."""

    def aggregate(self, file: bytes, shares: Shares, *, epoch: int) -> bytes:
        """The next model's file: the old one plus the updates at their weights; without shares the same file."""

    def publish(self, act: Acting, file: bytes, shares: Shares) -> Done:
        """Put the next model on chain, with the list of those in it."""

    def prove(self, act: Acting, base: bytes, file: bytes, shares: Shares) -> dict[str, Done]:
        """Whatever the chain wants of the acquirer between publication and a model that stands.

        `base` is the old model's file, `file` the new one's. Returns what was sent, by the names of the functions.
        """

    # --- anybody ---

    @staticmethod
    def questions(record: EpochRecord) -> dict[str, Question]:
        """What an audit asks about an epoch's aggregate, by name."""

    def check_market(self, trading: Trading) -> None:
        """Raise unless the contract was deployed for this scheme with these numbers."""

    def check(self, trading: Trading, file: bytes, *, epoch: int) -> None:
        """Raise unless `file` is the model that `epoch` published; 0 is the initial one."""

    def is_false(self, leaf: Settings, *, secret: bytes, seal: bytes, root: bytes) -> bool:
        """Whether a leaf, as `refute` was called with it, belongs to the sealed update and is not what it should be."""

    def floats(self, file: bytes) -> NDArray[np.float64]:
        """The model in a file as numbers to train on."""

    def reach(self, file: bytes) -> float:
        """How far a model is on its way to the edge of its range: 1 is the edge, 0 the middle, or no range at all."""
