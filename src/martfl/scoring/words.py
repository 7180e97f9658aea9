"""Residues on the wire: exactly as many bits each as the modulus has, no byte more."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from martfl.scoring.errors import ScoreMessageError

Words = NDArray[np.uint64]

_GROUP = 8  # eight words of w bits fill w bytes


def packed_bytes(count: int, bits: int) -> int:
    """The bytes that `count` words take, a multiple of eight."""
    return count * bits // _GROUP


def pack_words(words: Words, bits: int) -> bytes:
    """Words below 2^bits, little-endian, one after the other."""
    size = packed_bytes(words.size, bits)
    buffer = np.zeros(size + 8, np.uint8)
    for position, (window, shift) in enumerate(_windows(buffer, words.size, bits)):
        window |= words[position::_GROUP] << shift
    return buffer[:size].tobytes()


def unpack_words(raw: bytes, bits: int, modulus: int) -> Words:
    """The words of `pack_words`, each checked against the modulus."""
    count = _GROUP * len(raw) // bits
    buffer = np.frombuffer(bytes(raw) + bytes(8), np.uint8)
    words, mask = np.empty(count, np.uint64), np.uint64((1 << bits) - 1)
    for position, (window, shift) in enumerate(_windows(buffer, count, bits)):
        words[position::_GROUP] = (window >> shift) & mask
    if int(words.max()) >= modulus:
        raise ScoreMessageError("every word of a message must be a residue below its modulus")
    return words


def _windows(buffer: NDArray[np.uint8], count: int, bits: int) -> Iterator[tuple[Words, np.uint64]]:
    """For the first, second, … eighth word of every group: the eight bytes in which it lies, and how far in."""
    for position in range(_GROUP):
        offset, shift = divmod(position * bits, 8)
        yield np.ndarray((count // _GROUP,), "<u8", buffer, offset, strides=(bits,)), np.uint64(shift)
