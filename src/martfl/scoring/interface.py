"""What every scorer offers, and the scorers by name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from numpy.typing import ArrayLike

from martfl.scoring import plain
from martfl.scoring.errors import ScoringError
from martfl.scoring.wire import Message


class Key(Protocol):
    """The acquirer's half of a scorer."""

    @property
    def fingerprint(self) -> bytes:
        """The key's public name, 32 bytes."""

    def encrypt_baseline(self, update: ArrayLike) -> bytes:
        """The message to all providers."""

    def encrypt_chunks(self, update: ArrayLike) -> Iterator[bytes]:
        """The same in parts."""

    def write_baseline(self, update: ArrayLike, file: BinaryIO) -> int:
        """The same to a file."""

    def decrypt_score(self, reply: Message, *, parameters: int | None = None) -> float:
        """The cosine in a provider's reply."""

    def to_bytes(self) -> bytes:
        """The key for the acquirer's journal."""


@dataclass(frozen=True)
class Scorer:
    """A scheme: how the acquirer makes a key, how it restores one, how a provider answers."""

    name: str
    generate: Callable[[], Key]
    restore: Callable[[bytes], Key]
    score: Callable[[Message, ArrayLike], bytes]


def scorer(name: str) -> Scorer:
    """The scorer called "ckks" or "plain"; TenSEAL is imported for the first only."""
    if name == "plain":
        return Scorer(name, plain.PlainKey.generate, plain.PlainKey.from_bytes, plain.score_in_the_clear)
    if name != "ckks":
        raise ScoringError(f"a scorer must be ckks or plain, got {name!r}")
    from martfl.scoring import ckks

    return Scorer(name, ckks.ScoringKey.generate, ckks.ScoringKey.from_bytes, ckks.score_under_encryption)
