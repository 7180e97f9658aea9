"""Keccak Merkle trees with a cap: models in the clear, updates with salted leaves; cheap to check on chain.

A vector of m integers is packed into words (`packing`), ⌈m/k⌉ of them, padded with zero words to 2^d, d = ⌈log2⌉.

    base node    model:  the word itself (32 bytes, big endian)
                 update: keccak(word ‖ salt), 32 bytes each; an opened leaf says nothing about its neighbours
    inner node   keccak(left ‖ right)
    cap          the 2^h nodes at height d − h, h = min(6, d)
    root         keccak(cap[0] ‖ cap[1] ‖ …)

A path holds the d − h siblings below the cap; the cap is given once for all paths. Against a plain binary tree that
takes 6 hashes and 192 bytes off each sample's path. The contract checks, for parameter index j with k slots a word:

    keccak(cap) == root
    leaf = j // k; node = base node
    for s in siblings:  node = keccak(node ‖ s) if leaf even else keccak(s ‖ node);  leaf = leaf // 2
    cap[leaf] == node
    value = (word >> (bits · (j % k))) & (2^bits − 1)

Depth and cap size follow from m, which the contract fixes: no node can pass for a leaf. Models use 24 bits (k = 10),
updates 12 bits (k = 21). 3,000,000 parameters: model d = 19, 13 siblings; update d = 18, 12 siblings.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from martfl.settlement import hash_tree
from martfl.settlement.errors import RangeError, SettlementError
from martfl.settlement.hash_tree import HashTree
from martfl.settlement.keccak import keccak
from martfl.settlement.sampled.packing import slots_per_word, words_needed

CAP_HEIGHT = 6
_CHUNK = 4096  # words packed at a time: one bit takes four bytes on the way


@dataclass(frozen=True, kw_only=True)
class TreeShape:
    """What follows from the number of parameters and the slot width alone."""

    parameters: int
    bits: int

    def __post_init__(self) -> None:
        if self.parameters < 1:
            raise SettlementError(f"a tree needs at least one parameter, got {self.parameters}")
        slots_per_word(self.bits)

    @property
    def slots(self) -> int:
        """Parameters in one word."""
        return slots_per_word(self.bits)

    @property
    def leaves(self) -> int:
        """Words in use, before padding."""
        return words_needed(self.parameters, bits=self.bits)

    @property
    def depth(self) -> int:
        """d, with 2^d ≥ leaves."""
        return (self.leaves - 1).bit_length()

    @property
    def path_length(self) -> int:
        """Siblings below the cap."""
        return self.depth - min(CAP_HEIGHT, self.depth)

    @property
    def cap_size(self) -> int:
        """Nodes of the cap."""
        return 1 << min(CAP_HEIGHT, self.depth)

    def leaf_of(self, index: int) -> int:
        """The word that holds parameter `index`."""
        if not 0 <= index < self.parameters:
            raise SettlementError(f"parameter index in 0..{self.parameters - 1}, got {index}")
        return index // self.slots


@dataclass(frozen=True)
class Path:
    """One opened leaf; `salt` is empty in a model's tree."""

    leaf: int
    word: bytes
    siblings: tuple[bytes, ...]
    salt: bytes = b""


@dataclass(frozen=True)
class Tree:
    """The words of a vector and the nodes above them."""

    shape: TreeShape
    words: bytes  # (leaves · 32)
    salts: bytes  # (leaves · 32) or empty
    nodes: HashTree

    @property
    def cap(self) -> tuple[bytes, ...]:
        """The nodes that every path ends in."""
        level = self.nodes.filled(self.shape.path_length)
        return tuple(level[at : at + 32] for at in range(0, len(level), 32))

    @property
    def root(self) -> bytes:
        """What goes on chain."""
        return cap_root(self.cap)

    def open(self, index: int) -> Path:
        """The path of the word that holds parameter `index`."""
        leaf = self.shape.leaf_of(index)
        siblings = self.nodes.path(leaf)[: self.shape.path_length]
        at = slice(32 * leaf, 32 * leaf + 32)
        return Path(leaf, self.words[at], siblings, self.salts[at])


def build_tree(values: npt.NDArray[np.integer], *, bits: int, salts: bytes = b"") -> Tree:
    """The tree of `values` in 0..2^bits − 1; with `salts` (32 bytes a leaf) its leaves are blinded."""
    shape = TreeShape(parameters=len(values), bits=bits)
    words = pack_words(values, bits=bits)
    if salts and len(salts) != len(words):
        raise SettlementError(f"one salt of 32 bytes for each of {shape.leaves} leaves, got {len(salts)} bytes")
    return Tree(shape, words, salts, hash_tree.build([base_nodes(words, salts) if salts else words]))


def base_nodes(words: bytes, salts: bytes) -> bytes:
    """keccak(word ‖ salt) of every word."""
    return b"".join([keccak(words[at : at + 32] + salts[at : at + 32]) for at in range(0, len(words), 32)])


def cap_root(cap: Sequence[bytes]) -> bytes:
    """root = keccak(cap[0] ‖ cap[1] ‖ …)."""
    return keccak(b"".join(cap))


def pack_words(values: npt.NDArray[np.integer], *, bits: int) -> bytes:
    """The packing of `packing.pack` for whole models: 32-byte big-endian words."""
    flat = np.asarray(values)
    if flat.ndim != 1 or flat.dtype.kind not in "iu" or bits > 32:
        raise SettlementError(f"a flat integer vector of at most 32 bits, got {flat.dtype} {flat.shape}, {bits} bits")
    if flat.size and (int(flat.min()) < 0 or int(flat.max()) >= 1 << bits):
        raise RangeError(f"values lie in 0..{(1 << bits) - 1}, got {int(flat.min())}..{int(flat.max())}")
    k = slots_per_word(bits)
    step = k * _CHUNK
    return b"".join(_pack_chunk(flat[at : at + step], bits=bits) for at in range(0, flat.size, step))


def _pack_chunk(values: npt.NDArray[np.integer], *, bits: int) -> bytes:
    k = slots_per_word(bits)
    padded = np.zeros((words_needed(values.size, bits=bits), k), np.uint32)  # (words, k)
    padded.reshape(-1)[: values.size] = values
    shifts = np.arange(bits, dtype=np.uint32)
    bit = ((padded[:, :, None] >> shifts) & 1).astype(np.uint8).reshape(len(padded), k * bits)  # lowest bit first
    octets = np.packbits(np.pad(bit, ((0, 0), (0, 256 - k * bits))), axis=1, bitorder="little")  # (words, 32)
    return octets[:, ::-1].tobytes()


def unpack_words(words: bytes, *, bits: int, count: int) -> npt.NDArray[np.unsignedinteger]:
    """The first `count` values of packed words; whatever else the words hold is left out."""
    if len(words) != 32 * words_needed(count, bits=bits):
        raise SettlementError(f"{count} values of {bits} bits fill another number of words, got {len(words)} bytes")
    values: npt.NDArray[np.unsignedinteger] = np.empty(count, np.uint16 if bits <= 16 else np.uint32)
    k = slots_per_word(bits)
    for start in range(0, count, k * _CHUNK):
        part = words[32 * (start // k) : 32 * (start // k + _CHUNK)]
        chunk = values[start : start + k * _CHUNK]
        chunk[:] = _unpack_chunk(part, bits=bits)[: chunk.size]
    return values


def _unpack_chunk(words: bytes, *, bits: int) -> npt.NDArray[np.uint32]:
    k = slots_per_word(bits)
    octets = np.frombuffer(words, np.uint8).reshape(-1, 32)[:, ::-1]  # (words, 32), lowest first
    bit = np.unpackbits(octets, axis=1, bitorder="little")[:, : k * bits].reshape(-1, k, bits)
    powers = np.uint32(1) << np.arange(bits, dtype=np.uint32)
    return (bit @ powers).reshape(-1)  # (words·k,)
