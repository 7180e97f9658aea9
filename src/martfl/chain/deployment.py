"""What a contract is deployed with and fixes for ever, field by field as in the contracts' structs."""

from dataclasses import dataclass
from typing import ClassVar

from eth_utils.address import to_checksum_address

from martfl.errors import InputError

BASIS = 10_000
POINT_BYTES = 128
NO_TOKEN = "0x" + "00" * 20
WINDOWS = ("commit_window", "buy_window", "key_window", "publish_window", "settle_window")


@dataclass(frozen=True, kw_only=True)
class ExactModel:
    """A model as exact settlement keeps it: file hash, blinding and commitment C_W."""

    content: bytes  # (32,)
    blinding: int
    point: bytes  # (128,) EIP-2537

    def __post_init__(self) -> None:
        check_bytes("content", self.content, 32)
        check_bytes("point", self.point, POINT_BYTES)


@dataclass(frozen=True, kw_only=True)
class PackingTerms:
    """Exact settlement: how updates are packed into scalars, and the generators that they are committed with."""

    parameters: int
    bits: int
    width: int
    slots: int
    generators: bytes  # (32,) root of the generators' tree


@dataclass(frozen=True, kw_only=True)
class ExactStart:
    """What exact settlement fixes at deployment."""

    scheme: ClassVar[str] = "exact"
    layout: PackingTerms
    model: ExactModel
    judge: str = NO_TOKEN  # contract of `judge.vy`; zero: deployed along


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """What sampled settlement fixes at deployment."""

    providers: int  # slots of the circuit
    samples: int
    parameters: int
    vdf_steps: int
    verifying_key: bytes  # (32,) hash of the key's words
    empty_commitment: int  # cm of a slot that nobody fills
    poseidon: bytes  # (32,) hash of Poseidon's constants
    optimistic: bool = False  # the delay function is checked only when somebody challenges it
    prover: str = NO_TOKEN  # contract of `prover.vy`; zero: deployed along


@dataclass(frozen=True, kw_only=True)
class SampledStart:
    """What sampled settlement fixes at deployment, with the initial model's Merkle root and file hash."""

    scheme: ClassVar[str] = "sampled"
    sampling: Sampling
    root: bytes  # (32,)
    content: bytes  # (32,)


@dataclass(frozen=True, kw_only=True)
class Deadlines:
    """The last seconds of an epoch's windows."""

    commit: int
    buy: int
    keys: int
    publish: int


@dataclass(frozen=True, kw_only=True)
class PostedTerms:
    """The terms as the contract tells them, for a provider to compare before it joins."""

    acquirer: str
    token: str
    commit_window: int
    buy_window: int
    key_window: int
    publish_window: int
    settle_window: int
    penalty_ratio: int
    minimum_deposit: int
    terms_hash: bytes

    def deadlines(self, opened: int) -> Deadlines:
        """The ends of the windows of an epoch that was opened in this second."""
        commit = opened + self.commit_window
        buy = commit + self.buy_window
        keys = buy + self.key_window
        return Deadlines(commit=commit, buy=buy, keys=keys, publish=keys + self.publish_window)


@dataclass(frozen=True, kw_only=True)
class ContractTerms:
    """What a market's contract fixes for ever. Windows in seconds, money in the smallest unit."""

    acquirer: str
    commit_window: int  # from new_epoch
    buy_window: int  # from the end of the commit window
    key_window: int  # from the end of the buy window
    publish_window: int  # from the end of the key window
    settle_window: int  # sampled: from publication to the proof, and again for refutations
    penalty_ratio: int  # basis points of the reward
    minimum_deposit: int  # reward and penalty together
    settlement: ExactStart | SampledStart
    terms_hash: bytes = bytes(32)
    token: str = NO_TOKEN  # zero address: the chain's coin

    def __post_init__(self) -> None:
        check_bytes("terms_hash", self.terms_hash, 32)
        for name in WINDOWS:
            if not 1 <= getattr(self, name) <= 1 << 32:
                raise InputError(f"{name} must be 1 to 2^32 seconds, got {getattr(self, name)}")
        if not 1 <= self.penalty_ratio <= 100 * BASIS:
            raise InputError(f"penalty_ratio must be 1 to {100 * BASIS} basis points, got {self.penalty_ratio}")
        if not 1 <= self.minimum_deposit < 1 << 96:
            raise InputError(f"minimum_deposit must be 1 to 2^96 − 1, got {self.minimum_deposit}")

    @property
    def scheme(self) -> str:
        """The contract's name."""
        return self.settlement.scheme

    def shared(self) -> tuple[object, ...]:
        """The contract's `ContractTerms`."""
        windows = (getattr(self, name) for name in WINDOWS)
        parties = (to_checksum_address(self.acquirer), to_checksum_address(self.token))
        return (*parties, *windows, self.penalty_ratio, self.minimum_deposit, self.terms_hash)


def check_bytes(name: str, value: bytes, size: int) -> None:
    """Raise unless `value` has this many bytes."""
    if len(value) != size:
        raise InputError(f"{name} has {size} bytes, got {len(value)}")
