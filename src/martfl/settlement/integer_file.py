"""Integer vectors as files: a bought update on the wire, the published model on disk. Numpy only.

    magic ‖ version ‖ kind ‖ bytes a value ‖ epoch ‖ count ‖ scale δ ‖ SHA-256 ‖ values     (little-endian)

The hash covers everything else, header included; it is the content hash that the acquirer posts on chain. Values are
two's complement in as few whole bytes as their bound needs: 2 for 16-bit updates, 6 for a model of 42-bit slots.
"""

import hashlib
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from martfl.arrays import Integers
from martfl.settlement.errors import FileError, SettlementError

FileKind = Literal["update", "model"]
VERSION = 1
_MAGIC = b"MARTFLIV"
_FIELDS = struct.Struct("<8sBBBxIQd")  # then the hash
HEADER_BYTES = _FIELDS.size + 32
_KINDS: dict[FileKind, int] = {"update": 1, "model": 2}
_CHUNK = 1 << 18  # values at a time


@dataclass(frozen=True, kw_only=True, eq=False)
class IntegerVector:
    """What a file holds: integers at a scale, of one epoch."""

    kind: FileKind
    values: Integers  # (m,)
    scale: float  # δ of the market; a model's values are at δ/2^16
    epoch: int
    bits: int  # every value fits this many bits, two's complement

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise SettlementError(f"kind must be one of {tuple(_KINDS)}, got {self.kind!r}")
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise SettlementError(f"the scale must be positive and finite, got {self.scale}")
        if not 0 <= self.epoch < 1 << 32 or not 2 <= self.bits <= 64:
            raise SettlementError(f"0 ≤ epoch < 2^32 and 2 ≤ bits ≤ 64, got {self.epoch} and {self.bits}")
        if self.values.ndim != 1 or self.values.size == 0 or self.values.dtype.kind != "i":
            raise SettlementError(f"one flat vector of integers, got {self.values.shape} of {self.values.dtype}")
        low, high = -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        if int(self.values.min()) < low or int(self.values.max()) > high:
            raise SettlementError(f"values lie in {low}..{high}, got {self.values.min()}..{self.values.max()}")


@dataclass(frozen=True)
class FileHeader:
    """What a file says about itself, before its hash is checked."""

    kind: FileKind
    epoch: int
    parameters: int
    scale: float
    content: bytes  # the hash that it states


def peek(data: bytes) -> FileHeader:
    """A file's own description, for readers that do not know yet what to expect."""
    if len(data) < HEADER_BYTES:
        raise FileError(f"a header of {HEADER_BYTES} bytes expected, got {len(data)}")
    magic, version, number, _, epoch, count, scale = _FIELDS.unpack(data[: _FIELDS.size])
    known = {code: kind for kind, code in _KINDS.items()}
    if magic != _MAGIC or version != VERSION or number not in known or count < 1:
        raise FileError(f"format {_MAGIC!r} version {VERSION} expected, got {magic!r} version {version}")
    return FileHeader(known[number], epoch, count, scale, data[_FIELDS.size : HEADER_BYTES])


def write(vector: IntegerVector, stream: BinaryIO) -> bytes:
    """Write chunk by chunk; returns the content hash."""
    digest = content_hash(vector)
    stream.write(_fields(vector) + digest)
    for chunk in _encoded(vector):
        stream.write(chunk)
    return digest


def read(stream: BinaryIO, *, kind: FileKind, parameters: int) -> IntegerVector:
    """Read a file of the expected kind and size; anything truncated, longer, changed or foreign is refused."""
    header = stream.read(HEADER_BYTES)
    if len(header) != HEADER_BYTES:
        raise FileError(f"a header of {HEADER_BYTES} bytes expected, got {len(header)}")
    width, epoch, scale = _check_header(header[: _FIELDS.size], kind, parameters)
    hasher = hashlib.sha256(header[: _FIELDS.size])
    values: Integers = np.empty(parameters, _memory_type(width))
    for start in range(0, parameters, _CHUNK):
        size = min(_CHUNK, parameters - start)
        data = stream.read(size * width)
        if len(data) != size * width:
            raise FileError(f"{parameters} values of {width} bytes expected, the file ends in value {start}…")
        hasher.update(data)
        values[start : start + size] = _decode(data, width)
    if stream.read(1):
        raise FileError(f"the file goes on after its {parameters} values")
    if hasher.digest() != header[_FIELDS.size :]:
        raise FileError(f"content hash {hasher.hexdigest()} differs from the header's {header[_FIELDS.size :].hex()}")
    return IntegerVector(kind=kind, values=values, scale=scale, epoch=epoch, bits=8 * width)


def content_hash(vector: IntegerVector) -> bytes:
    """SHA-256 of the header's fields and the values: what the chain records."""
    hasher = hashlib.sha256(_fields(vector))
    for chunk in _encoded(vector):
        hasher.update(chunk)
    return hasher.digest()


def to_bytes(vector: IntegerVector) -> bytes:
    """The whole file in memory, for messages."""
    stream = BytesIO()
    write(vector, stream)
    return stream.getvalue()


def from_bytes(data: bytes, *, kind: FileKind, parameters: int) -> IntegerVector:
    """Read a message."""
    return read(BytesIO(data), kind=kind, parameters=parameters)


def _fields(vector: IntegerVector) -> bytes:
    width = -(-vector.bits // 8)
    return _FIELDS.pack(_MAGIC, VERSION, _KINDS[vector.kind], width, vector.epoch, vector.values.size, vector.scale)


def _check_header(fields: bytes, kind: FileKind, parameters: int) -> tuple[int, int, float]:
    magic, version, number, width, epoch, count, scale = _FIELDS.unpack(fields)
    if magic != _MAGIC or version != VERSION:
        raise FileError(f"format {_MAGIC!r} version {VERSION} expected, got {magic!r} version {version}")
    if number != _KINDS[kind]:
        raise FileError(f"a file of kind {kind!r} ({_KINDS[kind]}) expected, got kind {number}")
    if count != parameters:
        raise FileError(f"{parameters} parameters expected, the file has {count}")
    if not 1 <= width <= 8 or not (math.isfinite(scale) and scale > 0):
        raise FileError(f"1 to 8 bytes a value and a positive scale expected, got {width} and {scale}")
    return width, epoch, scale


def _memory_type(width: int) -> type[np.signedinteger]:
    return np.int16 if width <= 2 else np.int32 if width <= 4 else np.int64


def _encoded(vector: IntegerVector) -> Iterator[bytes]:
    width = -(-vector.bits // 8)
    for start in range(0, vector.values.size, _CHUNK):
        words = vector.values[start : start + _CHUNK].astype("<i8")  # (c,)
        yield words.view(np.uint8).reshape(-1, 8)[:, :width].tobytes()


def _decode(data: bytes, width: int) -> npt.NDArray[np.int64]:
    raw = np.zeros((len(data) // width, 8), np.uint8)
    raw[:, 8 - width :] = np.frombuffer(data, np.uint8).reshape(-1, width)
    return raw.view("<i8").ravel() >> (8 * (8 - width))  # the arithmetic shift restores the sign
