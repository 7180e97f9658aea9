"""The contracts' state and what is said to them, as frozen dataclasses, field by field as in the contracts' structs."""

from dataclasses import dataclass
from enum import IntEnum

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from martfl.chain.deployment import check_bytes
from martfl.errors import InputError

WHOLE = 1 << 16  # what the weights of an epoch sum to; the units in which prices are stated
MAX_PROVIDERS = 128  # in one transaction


class Phase(IntEnum):
    """Where an epoch stands, as the contract numbers it."""

    OPEN = 1 << 0  # providers commit
    TRADING = 1 << 1  # the acquirer buys, keys go over, the acquirer publishes
    PUBLISHED = 1 << 2  # sampled: waiting for the proof
    PROVED = 1 << 3  # sampled: proved, open to refutation
    STANDING = 1 << 4  # the model stands; some purchases are not answered for yet
    FAILING = 1 << 5  # the aggregation failed; some purchases are not answered for yet
    SETTLED = 1 << 6
    FAILED = 1 << 7
    EMPTY = 1 << 8

    @property
    def final(self) -> bool:
        """Whether money can be claimed."""
        return self in (Phase.SETTLED, Phase.FAILED, Phase.EMPTY)

    @property
    def stands(self) -> bool:
        """Whether the epoch's model is the one that the next epoch starts from."""
        return self in (Phase.STANDING, Phase.SETTLED)


class SaleState(IntEnum):
    """Where a provider's sale stands in an epoch: the contract's `State`."""

    ABSENT = 0
    COMMITTED = 1 << 0
    BOUGHT = 1 << 1
    ACCEPTED = 1 << 2
    REVEALED = 1 << 3
    LISTED = 1 << 4
    REFUTED = 1 << 5
    CLAIMED = 1 << 6

    @property
    def bought(self) -> bool:
        """Whether a price is locked for it, or was."""
        return self > SaleState.COMMITTED

    @property
    def delivered(self) -> bool:
        """Whether the contract holds that it handed its update over."""
        return self in (SaleState.ACCEPTED, SaleState.REVEALED, SaleState.LISTED, SaleState.CLAIMED)


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What a sampled proof is about."""

    number: int  # block of publication
    listed: bytes
    nonces: bytes
    base: bytes
    next: bytes


@dataclass(frozen=True, kw_only=True)
class ProofState:
    """How far the proof of a sampled market's latest epoch is; words of zeros stand for steps to come."""

    epoch: int
    seed: bytes
    randomness: bytes
    output: bytes
    inputs: bytes


@dataclass(frozen=True, kw_only=True)
class EpochState:
    """An epoch as it stands at the latest block."""

    number: int
    phase: Phase
    opened: int
    deposit: int
    reward: int
    spent: int  # sum of all prices
    delivered: int  # the part of it owed to those who delivered
    bought: int
    silent: int  # of those: neither accepted nor revealed nor listed
    revealed: int  # of those: open to refutation
    deadline: int  # sampled: of the step that is due
    refundable: int  # what the acquirer may claim now
    refunded: bool
    base: int  # the epoch whose model this one starts from

    @property
    def penalty(self) -> int:
        """What the acquirer loses when it publishes nothing, or something false."""
        return self.deposit - self.reward

    @property
    def bonus(self) -> int:
        """What goes by weight: the reward less all prices."""
        return self.reward - self.spent


@dataclass(frozen=True, kw_only=True)
class ProviderState:
    """A provider's standing in one epoch."""

    state: SaleState
    price: int
    weight: int
    claimable: int


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What a provider shows after commitments are closed: it opens the digest that the provider committed to."""

    provider: str
    commitment: bytes  # (128,) point in exact markets, (32,) root in sampled ones
    root: bytes  # (32,) of the sealed update
    key_hash: bytes  # (32,) keccak of the key
    ask: int

    def __post_init__(self) -> None:
        check_bytes("root", self.root, 32)
        check_bytes("key_hash", self.key_hash, 32)
        if not 0 <= self.ask < 1 << 96:
            raise InputError(f"an ask lies in 0..2^96 − 1, got {self.ask}")

    @property
    def seal(self) -> bytes:
        """keccak(root ‖ keccak(key))."""
        return keccak(self.root + self.key_hash)

    @property
    def commitment_hash(self) -> bytes:
        """What the digest holds of the commitment."""
        return keccak(self.commitment)

    def words(self) -> tuple[object, ...]:
        """The contract's `Offer`."""
        return to_checksum_address(self.provider), self.commitment_hash, self.seal, self.ask

    def digest(self, *, chain_id: int, market: str, epoch: int) -> bytes:
        """What goes on chain before anybody has judged."""
        return offer_digest(chain_id, market, epoch, self.provider, self.commitment_hash, self.seal, self.ask)


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A provider in the aggregate: its offer and weight."""

    offer: Offer
    weight: int


@dataclass(frozen=True, kw_only=True)
class SignedCommit:
    """A commitment that anybody may send for its provider."""

    provider: str
    digest: bytes
    signature: bytes  # (65,) r ‖ s ‖ v


@dataclass(frozen=True, kw_only=True)
class SignedClaim:
    """Where a provider wants to be paid; without a signature: at its own address."""

    provider: str
    receiver: str = ""
    signature: bytes = b""


def offer_digest(
    chain_id: int, market: str, epoch: int, provider: str, commitment_hash: bytes, seal: bytes, ask: int
) -> bytes:
    """keccak(chain, market, epoch, wallet, keccak(C), seal, ask), 32 bytes each."""
    words = [_word(chain_id), _address(market), _word(epoch), _address(provider)]
    return keccak(b"".join([*words, commitment_hash, seal, _word(ask)]))


def price_of(ask: int, reward: int) -> int:
    """What a purchase locks: the ask, rounded up to a 65536th of the reward."""
    if not 0 <= ask <= reward:
        raise InputError(f"an ask lies in 0..{reward}, the reward, got {ask}")
    units = 0 if ask == 0 else -(-ask * WHOLE // reward)
    return reward * units // WHOLE


def _word(value: int) -> bytes:
    return value.to_bytes(32, "big")


def _address(value: str) -> bytes:
    return bytes.fromhex(to_checksum_address(value)[2:]).rjust(32, b"\0")
