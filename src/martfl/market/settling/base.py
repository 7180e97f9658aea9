"""What both settlement schemes offer to the roles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from eth_account.signers.local import LocalAccount
from numpy.typing import NDArray

from martfl.chain.state import ExactModel, Sampling
from martfl.chain.trading import Done, Trading
from martfl.market.journal import Journal
from martfl.market.link import Clock
from martfl.settlement.fixed_point import Integers, Overflow, Quantised


@dataclass(frozen=True, eq=False)
class Delivered:
    """An opened delivery: the quantised update and the secret of its commitment."""

    values: Integers  # [m]
    secret: bytes


@dataclass(frozen=True, eq=False)
class Share:
    """A bought update and its integer weight in the aggregate."""

    delivered: Delivered
    weight: int


Shares = Mapping[str, Share]


@dataclass(frozen=True)
class Acting:
    """An acquirer in one epoch: with what it signs, remembers and waits."""

    trading: Trading
    account: LocalAccount
    journal: Journal
    clock: Clock
    epoch: int

    def key(self, step: str) -> str:
        """The name under which the chain sends a step once."""
        return f"{self.trading.address}/{self.epoch}/{step}"


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

    @property
    def parameters(self) -> int:
        """The length m of every vector."""

    @property
    def numbers(self) -> Numbers:
        """How updates become integers."""

    # --- providers ---

    def commit(self, update: Integers) -> tuple[bytes, bytes]:
        """What goes on chain, and the secret that opens it."""

    def pack(self, update: Integers, secret: bytes, *, epoch: int) -> bytes:
        """The delivery, before it is sealed."""

    def defend(
        self, trading: Trading, *, epoch: int, update: Integers, secret: bytes, account: LocalAccount, key: str
    ) -> Done | None:
        """Refute on chain what the acquirer claims falsely about this update; None where all is well."""

    # --- the acquirer ---

    def unpack(self, delivery: bytes, *, epoch: int) -> Delivered:
        """A delivery of the right shape; whether it opens its commitment is `find_false`'s question."""

    def find_false(self, delivered: Mapping[str, Delivered], commitments: Mapping[str, bytes]) -> set[str]:
        """The providers whose delivery does not open their commitment."""

    def start(self, model: NDArray[np.float64]) -> ExactModel | Sampling:
        """The initial model as the contract keeps it."""

    def first_file(self, model: NDArray[np.float64]) -> bytes:
        """The initial model as a file."""

    def aggregate(self, file: bytes, shares: Shares, *, epoch: int) -> bytes:
        """The next model's file: the old one plus the updates at their weights."""

    def publish(self, act: Acting, file: bytes, shares: Shares) -> Done:
        """Put the next model on chain."""

    def prove(self, act: Acting, base: bytes, file: bytes, shares: Shares) -> list[Done]:
        """Whatever the chain wants between publication and settlement; may wait for windows to close.

        `base` is the old model's file, `file` the new one's.
        """

    # --- anybody ---

    def check(self, trading: Trading, file: bytes, *, epoch: int) -> None:
        """Raise unless `file` is the model that `epoch` published; 0 is the initial one."""

    def floats(self, file: bytes) -> NDArray[np.float64]:
        """The model in a file as numbers to train on."""
