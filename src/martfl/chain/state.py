"""The contract's terms and state as frozen dataclasses."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from eth_utils.address import to_checksum_address

from martfl.errors import InputError

WHOLE = 1 << 16  # what the weights of an epoch sum to
BASIS = 10_000
MAX_PROVIDERS = 128  # in one transaction
POINT_BYTES = 128
NO_TOKEN = "0x" + "00" * 20


class Phase(IntEnum):
    """Where an epoch stands; everything from SETTLED on is final."""

    OPEN = 1
    PREPARED = 2
    PUBLISHED = 3
    RANDOMISED = 4
    INPUTS = 5
    PROVED = 6
    SETTLED = 7
    FAILED = 8
    EMPTY = 9
    DROPPED = 10
    ABANDONED = 11

    @property
    def final(self) -> bool:
        """Whether money can be claimed."""
        return self >= Phase.SETTLED


@dataclass(frozen=True, kw_only=True)
class ExactModel:
    """A model as exact settlement keeps it: file hash, blinding and commitment C_W."""

    content: bytes  # (32,)
    blinding: int
    point: bytes  # (128,) EIP-2537

    def __post_init__(self) -> None:
        _check_bytes("content", self.content, 32)
        _check_bytes("point", self.point, POINT_BYTES)


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """What sampled settlement fixes at deployment; the initial model is given by its Merkle root and file hash."""

    providers: int  # slots of the circuit
    samples: int
    parameters: int
    vdf_steps: int
    verifying_key: bytes  # (32,) hash of the key's words
    empty_commitment: int  # cm of a provider of weight 0
    poseidon: bytes  # (32,) hash of Poseidon's constants
    root: bytes  # (32,) Merkle root of the initial model
    content: bytes  # (32,)
    optimistic: bool = False  # the VDF is checked only when somebody challenges it
    proofs: str = NO_TOKEN  # contract of `proofs.vy`; zero: deployed along


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a market's contract fixes for ever. Windows in seconds, money in the smallest unit."""

    acquirer: str
    commit_window: int
    prepare_window: int
    publish_window: int
    settle_window: int
    advance_fee: int
    penalty_ratio: int  # basis points of the reward
    minimum_deposit: int  # reward and penalty together
    settlement: ExactModel | Sampling
    terms_hash: bytes = bytes(32)
    token: str = NO_TOKEN  # zero address: the chain's coin

    def __post_init__(self) -> None:
        _check_bytes("terms_hash", self.terms_hash, 32)
        for name in ("commit_window", "prepare_window", "publish_window", "settle_window"):
            if not 1 <= getattr(self, name) <= 1 << 32:
                raise InputError(f"{name} must be 1 to 2^32 seconds, got {getattr(self, name)}")
        if not 1 <= self.penalty_ratio <= 100 * BASIS:
            raise InputError(f"penalty_ratio must be 1 to {100 * BASIS} basis points, got {self.penalty_ratio}")
        if not 1 <= self.minimum_deposit < 1 << 96:
            raise InputError(f"minimum_deposit must be 1 to 2^96 − 1, got {self.minimum_deposit}")

    @property
    def scheme(self) -> str:
        """The contract's name."""
        return "exact" if isinstance(self.settlement, ExactModel) else "sampled"

    def deposit_for(self, reward: int) -> int:
        """The least deposit whose reward is at least `reward`: deposit = reward + penalty."""
        return -(-reward * (BASIS + self.penalty_ratio) // BASIS)

    def shared(self) -> tuple[Any, ...]:
        """The contract's `Terms`."""
        return (
            to_checksum_address(self.acquirer),
            to_checksum_address(self.token),
            self.commit_window,
            self.prepare_window,
            self.publish_window,
            self.settle_window,
            self.advance_fee,
            self.penalty_ratio,
            self.minimum_deposit,
            self.terms_hash,
        )


@dataclass(frozen=True, kw_only=True)
class PostedTerms:
    """The terms as the contract tells them, for a provider to compare before it joins."""

    scheme: str
    acquirer: str
    token: str
    commit_window: int
    prepare_window: int
    publish_window: int
    settle_window: int
    advance_fee: int
    penalty_ratio: int
    minimum_deposit: int
    terms_hash: bytes


@dataclass(frozen=True, kw_only=True)
class EpochState:
    """An epoch as it stands at the latest block; `phase` accounts for deadlines that have passed in silence."""

    number: int
    phase: Phase
    deadline: int
    deposit: int
    reward: int
    penalty: int
    providers: int  # committed and not dropped
    advanced: int
    forfeited: int
    weight: int  # bought and not dropped
    objected: int
    refunded: bool
    base: int  # the epoch whose model this one starts from


@dataclass(frozen=True, kw_only=True)
class ProviderState:
    """A provider's standing in one epoch."""

    committed: bool
    advance: bool
    dropped: bool
    objected: bool
    claimed: bool
    weight: int
    claimable: int

    @property
    def bought(self) -> bool:
        """Whether its update is paid for: in advance or by weight."""
        return not self.dropped and (self.advance or self.weight > 0)


@dataclass(frozen=True, kw_only=True)
class Bought:
    """A provider in the aggregate: its commitment and weight."""

    provider: str
    commitment: bytes
    weight: int

    def pair(self) -> bytes:
        """Point and scalar as the precompile wants them."""
        return self.commitment + self.weight.to_bytes(32, "big")


def _check_bytes(name: str, value: bytes, size: int) -> None:
    if len(value) != size:
        raise InputError(f"{name} has {size} bytes, got {len(value)}")
