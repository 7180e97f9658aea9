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
from numpy.typing import ArrayLike

from martfl.scoring.cosine import Direction, direction
from martfl.scoring.errors import MessageError, ReplyError
from martfl.scoring.sender import Sender
from martfl.scoring.wire import Header, Kind, Message, Reader, Scheme, require, sealed

_BLOCK = 4096
_SCORE = struct.Struct("<d")


def _header(kind: Kind, length: int, fingerprint: bytes) -> Header:
    return Header(kind, Scheme.PLAIN, 0, (), length, fingerprint)


@dataclass(frozen=True)
class PlainKey(Sender):
    """No key, only a name that ties replies to a baseline."""

    fingerprint: bytes  # (32,)

    @classmethod
    def generate(cls) -> Self:
        """A fresh name."""
        return cls(os.urandom(32))

    def _baseline(self, baseline: Direction) -> Iterator[bytes]:
        yield _header(Kind.BASELINE, baseline.size, self.fingerprint).pack()
        for block in baseline.blocks(_BLOCK):
            yield block.astype("<f8").tobytes()

    def decrypt_score(self, reply: Message, *, parameters: int | None = None) -> float:
        """The cosine in a reply; `parameters` additionally pins the model's length."""
        reader = Reader(reply)
        header = reader.header()
        length = header.length if parameters is None else parameters
        require(header, wanted=_header(Kind.REPLY, length, self.fingerprint))
        score = float(_SCORE.unpack(reader.take(_SCORE.size))[0])
        reader.finish()
        if not -1.0 <= score <= 1.0:
            raise ReplyError("a reply must hold a cosine, a number in [-1, 1]")
        return score

    def to_bytes(self) -> bytes:
        """The key for a journal."""
        return b"".join(sealed([_header(Kind.SECRET, 0, self.fingerprint).pack()]))

    @classmethod
    def from_bytes(cls, raw: Message) -> Self:
        """The key from a journal."""
        reader = Reader(raw)
        header = reader.header()
        require(header, wanted=_header(Kind.SECRET, 0, header.fingerprint))
        reader.finish()
        return cls(header.fingerprint)


def score_in_the_clear(message: Message, update: ArrayLike) -> bytes:
    """The provider's side: the cosine of its update with the baseline of the message."""
    mine = direction(update)
    reader = Reader(message)
    header = reader.header()
    require(header, wanted=_header(Kind.BASELINE, mine.size, header.fingerprint))
    with np.errstate(all="ignore"):
        total = sum(float(np.frombuffer(reader.take(8 * block.size), "<f8") @ block) for block in mine.blocks(_BLOCK))
    reader.finish()
    if not math.isfinite(total):
        raise MessageError("the baseline in the message must be finite, got NaN or infinity")
    score = min(1.0, max(-1.0, total))
    return b"".join(sealed([_header(Kind.REPLY, mine.size, header.fingerprint).pack(), _SCORE.pack(score)]))
