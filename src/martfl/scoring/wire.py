"""The bytes that travel: a versioned header, a body, a SHA-256 digest of both.

    magic "mfsc" | version | kind | scheme | ring degree | modulus | length m | sketch: entries, seed | key fingerprint
    body
    SHA-256 of everything before it

Little-endian throughout. The digest finds damage, not forgery. SEAL sees nothing that was not checked here first.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import BinaryIO, TypeAlias

from martfl.scoring.errors import ScoreMessageError
from martfl.scoring.sketch import SEED_BYTES, Sketch

Message: TypeAlias = bytes | bytearray | memoryview | BinaryIO | Iterable[bytes]

MAGIC = b"mfsc"
VERSION = 2
DIGEST_BYTES = 32
_LAYOUT = struct.Struct("<4sBBBIQQI32s32s")
HEADER_BYTES = _LAYOUT.size


class Kind(IntEnum):
    """What a message is for."""

    BASELINE = 1
    REPLY = 2
    SECRET = 3


class Scheme(IntEnum):
    """How a message is protected."""

    PLAIN = 1
    CKKS = 2


@dataclass(frozen=True)
class MessageHeader:
    """What a message says of itself; a reader checks every field."""

    kind: Kind
    scheme: Scheme
    ring: int  # polynomial degree N; 0 in the clear
    modulus: int  # q; 0 in the clear
    length: int  # parameters m; 0 where it has no meaning
    entries: int  # of the sketch; 0 where whole vectors are compared
    seed: bytes  # (32,) of the sketch; zeros without one
    fingerprint: bytes  # (32,) SHA-256 of the public key

    def pack(self) -> bytes:
        """The header as it travels."""
        numbers = (VERSION, self.kind, self.scheme, self.ring, self.modulus, self.length, self.entries)
        return _LAYOUT.pack(MAGIC, *numbers, self.seed, self.fingerprint)


def header_of(
    kind: Kind, scheme: Scheme, fingerprint: bytes, *, ring: int, modulus: int, length: int, sketch: Sketch | None
) -> MessageHeader:
    """The header of a message about whole vectors, or about sketches of them."""
    entries, seed = (sketch.entries, sketch.seed) if sketch else (0, bytes(SEED_BYTES))
    return MessageHeader(kind, scheme, ring, modulus, length, entries, seed, fingerprint)


def unpack_header(raw: bytes) -> MessageHeader:
    """Read a header; refuse what this version cannot know."""
    magic, version, kind, scheme, *rest = _LAYOUT.unpack(raw)
    if magic != MAGIC:
        raise ScoreMessageError(f"a scoring message starts with {MAGIC!r}, got {magic!r}")
    if version != VERSION:
        raise ScoreMessageError(f"message version must be {VERSION}, got {version}")
    if kind not in Kind.__members__.values() or scheme not in Scheme.__members__.values():
        raise ScoreMessageError(f"message kind and scheme must be known ones, got {kind} and {scheme}")
    return MessageHeader(Kind(kind), Scheme(scheme), *rest)


def require(header: MessageHeader, *, wanted: MessageHeader) -> None:
    """Refuse a message whose header differs from the wanted one in any field, and name the field."""
    for field in ("scheme", "kind", "entries", "seed", "ring", "modulus", "length", "fingerprint"):
        got, want = getattr(header, field), getattr(wanted, field)
        if got != want:
            raise ScoreMessageError(f"message {field} must be {_show(want)}, got {_show(got)}")


def _show(value: object) -> str:
    if isinstance(value, IntEnum):
        return value.name.lower()
    return value.hex() if isinstance(value, bytes) else str(value)


def sealed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Pass the parts of a message through and append their digest."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
        yield part
    yield digest.digest()


class Reader:
    """Takes a message apart in order, from bytes, a binary file or an iterable of bytes; holds one part at a time."""

    def __init__(self, message: Message) -> None:
        self._parts = _parts(message)
        self._left = memoryview(b"")
        self._digest = hashlib.sha256()

    def header(self) -> MessageHeader:
        """The header; first of all."""
        return unpack_header(self.take(HEADER_BYTES))

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        raw = self._raw(count)
        self._digest.update(raw)
        return raw

    def finish(self) -> None:
        """Check the digest, and that nothing follows it."""
        if self._raw(DIGEST_BYTES) != self._digest.digest():
            raise ScoreMessageError("the message's digest must match its content; it was damaged on the way")
        if len(self._left) or any(len(part) for part in self._parts):
            raise ScoreMessageError("a message must end with its digest, got further bytes")

    def _raw(self, count: int) -> bytes:
        out = bytearray()
        while len(out) < count:
            if not len(self._left) and not self._refill():
                raise ScoreMessageError(f"the message is truncated: {count - len(out)} bytes are missing here")
            piece = self._left[: count - len(out)]
            self._left = self._left[len(piece) :]
            out += piece
        return bytes(out)

    def _refill(self) -> bool:
        self._left = next((part for part in self._parts if len(part)), memoryview(b""))
        return bool(len(self._left))


def _parts(message: Message) -> Iterator[memoryview]:
    if isinstance(message, (bytes, bytearray, memoryview)):
        return iter([_bytes(message)])
    read = getattr(message, "read", None)
    if callable(read):
        return (_bytes(part) for part in iter(lambda: read(1 << 16), b""))
    if isinstance(message, str) or not isinstance(message, Iterable):
        raise ScoreMessageError(
            f"a message must be bytes, a binary file or an iterable of bytes, got {type(message).__name__}"
        )
    return (_bytes(part) for part in message)


def _bytes(part: object) -> memoryview:
    if not isinstance(part, (bytes, bytearray, memoryview)):
        raise ScoreMessageError(f"a message must come in bytes, got a {type(part).__name__}")
    view = memoryview(part)
    return view.cast("B") if view.c_contiguous and view.nbytes else memoryview(view.tobytes())
