"""The scorer without encryption: the interface of the private one, for experiments and as the reference of its tests.

It protects nothing. A provider never answers it by mistake: each scorer refuses the other's messages.
"""

import math
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from martfl.scoring.cosine import update_direction
from martfl.scoring.direction import Direction, VectorLike
from martfl.scoring.errors import ReplyError, ScoreMessageError
from martfl.scoring.sender import Sender
from martfl.scoring.sketch import Sketch
from martfl.scoring.wire import Kind, Message, MessageHeader, Reader, Scheme, header_of, require, sealed

_BLOCK = 4096
_SCORE = struct.Struct("<d")


def _header(kind: Kind, fingerprint: bytes, *, length: int, sketch: Sketch | None) -> MessageHeader:
    return header_of(kind, Scheme.PLAIN, fingerprint, ring=0, modulus=0, length=length, sketch=sketch)


@dataclass(frozen=True)
class PlainKey(Sender):
    """No key, only a name that ties replies to a baseline.

    Examples:
        >>> key = PlainKey.generate()
        >>> reply = score_in_the_clear(key.encrypt_baseline([1.0, 0.0]), [3.0, 4.0])
        >>> round(PlainKey.from_bytes(key.to_bytes()).decrypt_score(reply), 6)
        0.6
    """

    fingerprint: bytes  # (32,)
    sketch: Sketch | None = None

    @classmethod
    def generate(cls, sketch: Sketch | None = None) -> Self:
        """A fresh name."""
        return cls(os.urandom(32), sketch)

    def _baseline(self, baseline: Direction) -> Iterator[bytes]:
        yield _header(Kind.BASELINE, self.fingerprint, length=baseline.parameters, sketch=self.sketch).pack()
        for block in baseline.blocks(_BLOCK):
            yield block.astype("<f8").tobytes()

    def decrypt_score(self, reply: Message, *, parameters: int | None = None) -> float:
        """The cosine in a reply; `parameters` additionally pins the model's length."""
        reader = Reader(reply)
        header = reader.header()
        length = header.length if parameters is None else parameters
        require(header, wanted=_header(Kind.REPLY, self.fingerprint, length=length, sketch=self.sketch))
        score = float(_SCORE.unpack(reader.take(_SCORE.size))[0])
        reader.finish()
        if not -1.0 <= score <= 1.0:
            raise ReplyError("a reply must hold a cosine, a number in [-1, 1]")
        return score

    def to_bytes(self) -> bytes:
        """The key for a journal."""
        return b"".join(sealed([_header(Kind.SECRET, self.fingerprint, length=0, sketch=self.sketch).pack()]))

    @classmethod
    def from_bytes(cls, raw: Message, sketch: Sketch | None = None) -> Self:
        """The key from a journal."""
        reader = Reader(raw)
        header = reader.header()
        require(header, wanted=_header(Kind.SECRET, header.fingerprint, length=0, sketch=sketch))
        reader.finish()
        return cls(header.fingerprint, sketch)


def score_in_the_clear(message: Message, update: VectorLike, *, sketch: Sketch | None = None) -> bytes:
    """The provider's side: the cosine of its update with the baseline of the message.

    score = ⟨u, g⟩ / (‖u‖·‖g‖)

    Examples:
        >>> key = PlainKey.generate()
        >>> round(key.decrypt_score(score_in_the_clear(key.encrypt_baseline([1.0, 0.0]), [3.0, 4.0])), 6)
        0.6
    """
    mine, reader = update_direction(update, sketch), Reader(message)
    header = reader.header()
    require(header, wanted=_header(Kind.BASELINE, header.fingerprint, length=mine.parameters, sketch=sketch))
    with np.errstate(all="ignore"):
        total = sum(float(np.frombuffer(reader.take(8 * block.size), "<f8") @ block) for block in mine.blocks(_BLOCK))
    reader.finish()
    if not math.isfinite(total):
        raise ScoreMessageError("the baseline in the message must be finite, got NaN or infinity")
    score = _SCORE.pack(min(1.0, max(-1.0, total)))
    head = _header(Kind.REPLY, header.fingerprint, length=mine.parameters, sketch=sketch).pack()
    return b"".join(sealed([head, score]))
