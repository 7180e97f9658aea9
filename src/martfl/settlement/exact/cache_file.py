"""Files of blocks in the user's cache folder, pinned by hash: the generators, and the leaves of their tree.

    magic ‖ version ‖ number of blocks ‖ SHA-256 of each block ‖ blocks         (integers little-endian)

A block whose hash differs ends what is used of a file. The file's hashes catch accidents only, so the first blocks are
pinned in this package as well, by the chain d_{k+1} = SHA-256(d_k ‖ SHA-256(block k)). Pins are held against what was
put together in the end, not against what a file says of itself: a block from a file is used only if a pin at it or
behind it confirms it, and blocks that were made here must agree with the pins too. (Beyond the last pin there are the
file's own hashes alone.)
"""

import hashlib
import json
import logging
import os
import struct
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import BinaryIO

from martfl.cache import cache_folder
from martfl.settlement.errors import SettlementError

PINNED_STEP = 16  # there is a pin after every block up to here, then after every multiple of it
STORED_STEP = 32 * PINNED_STEP  # blocks that are made between two times that the file is written
_HEADER = struct.Struct("<8sII")
_LARGEST = 1 << 20  # blocks; a header that claims more is not ours

log = logging.getLogger(__name__)
MakeBlocks = Callable[[int, int], Sequence[bytes]]  # blocks first … stop − 1


def whole_steps(blocks: int) -> int:
    """The number of blocks rounded up to where a pin covers them all."""
    return blocks if blocks <= PINNED_STEP else -(-blocks // PINNED_STEP) * PINNED_STEP


@dataclass(frozen=True, kw_only=True)
class CacheFile:
    """One kind of file; `pinned` names the list of its pins in this package."""

    name: str
    magic: bytes
    version: int
    block_bytes: int
    pinned: str

    @cached_property
    def pins(self) -> dict[int, str]:
        """The chain's digest after so many blocks, rising."""
        listed = json.loads(resources.files(__package__).joinpath(self.pinned).read_text())
        return {int(count): digest for count, digest in listed.items()}

    def load(self, needed: int, make: MakeBlocks, *, folder: Path | None = None) -> list[bytes]:
        """At least `needed` blocks, from the file where they are sound; what is missing is made and stored."""
        path, wanted = (folder or cache_folder()) / self.name, whole_steps(needed)
        blocks = self.read(path, wanted)
        while len(blocks) < wanted:  # what is made is stored from time to time: who is interrupted goes on from there
            blocks += make(len(blocks), min(len(blocks) + STORED_STEP, wanted))
            if self._confirmed(blocks) < len(blocks):
                raise SettlementError(
                    f"blocks made for {self.name} differ from their pins: this machine computes wrongly"
                )
            try:
                self.write(path, blocks)
            except OSError as error:
                log.warning("%s cannot be kept, so it is made each time: %s", path, error)
        return blocks

    def read(self, path: Path, wanted: int) -> list[bytes]:
        """The first blocks of the file that the pins confirm, at most `wanted`; none where it is not ours."""
        try:
            with path.open("rb") as file:
                blocks = self._read_blocks(file, wanted)
        except FileNotFoundError:
            return []
        except (ValueError, OSError) as error:
            log.warning("%s is not used and will be made again: %s", path, error)
            return []
        return blocks[: self._confirmed(blocks)]

    def write(self, path: Path, blocks: list[bytes]) -> None:
        """Store `blocks` in one step: a reader sees the old file or the new one, whole. A longer sound file stays."""
        if len(self.read(path, whole_steps(len(blocks) + 1))) > len(blocks):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_HEADER.pack(self.magic, self.version, len(blocks)))
                file.writelines(hashlib.sha256(block).digest() for block in blocks)
                file.writelines(blocks)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _read_blocks(self, file: BinaryIO, wanted: int) -> list[bytes]:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            raise ValueError(f"header of {_HEADER.size} bytes expected, got {len(header)}")
        magic, version, stored = _HEADER.unpack(header)
        if magic != self.magic or version != self.version or stored > _LARGEST:
            raise ValueError(f"format {self.magic!r} version {self.version} expected, got {magic!r} version {version}")
        digests, blocks = file.read(32 * stored), []
        for number in range(min(wanted, stored)):
            block = file.read(self.block_bytes)
            if hashlib.sha256(block).digest() != digests[32 * number : 32 * number + 32]:
                log.warning("%s: block %d is corrupted; it and those after it will be made again", self.name, number)
                break
            blocks.append(block)
        return blocks

    def _confirmed(self, blocks: list[bytes]) -> int:
        """How many of the blocks a pin confirms; all of them where they go on beyond the last pin."""
        links, good = chain(blocks), 0
        for count, pin in self.pins.items():
            if count > len(blocks):
                return good
            if links[count - 1] != pin:
                log.warning("%s: the first %d blocks do not hash to their pin", self.name, count)
                return good
            good = count
        return len(blocks)


def chain(blocks: list[bytes]) -> list[str]:
    """The chain's digest after each block."""
    link, links = bytes(32), []
    for block in blocks:
        link = hashlib.sha256(link + hashlib.sha256(block).digest()).digest()
        links.append(link.hex())
    return links
