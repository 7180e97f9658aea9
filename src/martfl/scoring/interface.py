"""What every scorer offers, and the scorers by name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Protocol

from martfl.scoring import plain
from martfl.scoring.cosine import ScoreCheck, ScoreError, check_score, score_error
from martfl.scoring.direction import VectorLike
from martfl.scoring.errors import ScoringError
from martfl.scoring.sketch import Sketch
from martfl.scoring.wire import Message


class Key(Protocol):
    """The acquirer's half of a scorer."""

    @property
    def fingerprint(self) -> bytes:
        """The key's public name, 32 bytes."""

    def encrypt_baseline(self, update: VectorLike) -> bytes:
        """The message to all providers."""

    def encrypt_chunks(self, update: VectorLike) -> Iterator[bytes]:
        """The same in parts."""

    def write_baseline(self, update: VectorLike, file: BinaryIO) -> int:
        """The same to a file."""

    def decrypt_score(self, reply: Message, *, parameters: int | None = None) -> float:
        """The cosine in a provider's reply."""

    def to_bytes(self) -> bytes:
        """The key for the acquirer's journal."""


@dataclass(frozen=True)
class Scorer:
    """A scheme: how the acquirer makes a key, how it restores one, how a provider answers, how an answer is checked.

    Examples:
        >>> scheme = scorer('plain')
        >>> scheme.check(0.6, [1.0, 0.0], [3.0, 4.0]).honest, scheme.check(0.9, [1.0, 0.0], [3.0, 4.0]).honest
        (True, False)
        >>> scheme.error
        ScoreError(deviation=0.0, noise=2e-05)
    """

    name: str
    generate: Callable[[], Key]
    restore: Callable[[bytes], Key]
    score: Callable[[Message, VectorLike], bytes]
    sketch: Sketch | None = None

    def check(self, reported: float, baseline: VectorLike, update: VectorLike) -> ScoreCheck:
        """Whether a reported score is that of the update delivered afterwards."""
        return check_score(reported, baseline, update, sketch=self.sketch)

    @property
    def error(self) -> ScoreError:
        """How far its scores may be from the cosines of whole updates."""
        return score_error(self.sketch.entries if self.sketch else 0)


def scorer(name: str, *, sketch: Sketch | None = None) -> Scorer:
    """The scorer called "ckks" or "plain", over sketches where one is given; TenSEAL is imported for the first only.

    Examples:
        >>> scheme = scorer('plain')
        >>> key = scheme.generate()
        >>> round(key.decrypt_score(scheme.score(key.encrypt_baseline([1.0, 0.0]), [3.0, 4.0])), 6)
        0.6
    """
    if name == "plain":
        return _scorer(name, sketch, plain.PlainKey.generate, plain.PlainKey.from_bytes, plain.score_in_the_clear)
    if name != "ckks":
        raise ScoringError(f"a scorer must be ckks or plain, got {name!r}")
    from martfl.scoring import ckks

    return _scorer(name, sketch, ckks.ScoringKey.generate, ckks.ScoringKey.from_bytes, ckks.score_under_encryption)


def _scorer(
    name: str,
    sketch: Sketch | None,
    generate: Callable[[Sketch | None], Key],
    restore: Callable[[bytes, Sketch | None], Key],
    answer: Callable[..., bytes],
) -> Scorer:
    return Scorer(
        name, lambda: generate(sketch), lambda raw: restore(raw, sketch), partial(answer, sketch=sketch), sketch
    )
