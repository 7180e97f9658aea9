"""The file of generators in the user's cache folder, pinned by hash.

    magic ‖ version ‖ number of blocks ‖ SHA-256 of each block ‖ blocks         (integers little-endian)
    block = 512 points, 96 bytes each: x, then y, in Montgomery form, so that a loaded file is ready for use

A block whose hash differs ends what is used of the file: it and all after it are made again. The first blocks are
pinned in this package as well, by the chain d_{k+1} = SHA-256(d_k ‖ hash of block k), so that a file that was
exchanged whole, hashes included, is caught too. (Beyond the last pin the file's own hashes catch accidents only.)
"""

import hashlib
import json
import logging
import os
import struct
import tempfile
from importlib import resources
from pathlib import Path
from typing import BinaryIO

NAME = "generators-v2.bin"
BLOCK_POINTS = 512
POINT_BYTES = 96
BLOCK_BYTES = POINT_BYTES * BLOCK_POINTS
_HEADER = struct.Struct("<8sII")
_MAGIC = b"MARTFLG1"
_VERSION = 2
_LARGEST = 1 << 20  # blocks; a header that claims more is not ours

PINNED_STEP = 16  # pins.json holds the chain digest after every block up to here, then after every multiple of it
PINS: dict[int, str] = {
    int(count): digest
    for count, digest in json.loads(resources.files(__package__).joinpath("pins.json").read_text()).items()
}

log = logging.getLogger(__name__)


def default_folder() -> Path:
    """`MARTFL_CACHE`, or martfl's folder in the user's cache folder."""
    if named := os.environ.get("MARTFL_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "martfl"


def whole_steps(blocks: int) -> int:
    """The number of blocks rounded up to where a pin covers them all."""
    return blocks if blocks <= PINNED_STEP else -(-blocks // PINNED_STEP) * PINNED_STEP


def read(path: Path, wanted: int) -> list[bytes]:
    """The first sound blocks of the file, at most `wanted`; none where the file is missing or not ours."""
    try:
        with path.open("rb") as file:
            return _read_blocks(file, wanted)
    except FileNotFoundError:
        return []
    except (ValueError, OSError) as error:
        log.warning("generators: %s is not used and will be made again: %s", path, error)
        return []


def write(path: Path, blocks: list[bytes]) -> None:
    """Store `blocks` in one step: a reader sees the old file or the new one, whole. A longer sound file stays."""
    if len(read(path, len(blocks) + 1)) > len(blocks):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_HEADER.pack(_MAGIC, _VERSION, len(blocks)))
            file.writelines(hashlib.sha256(block).digest() for block in blocks)
            file.writelines(blocks)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def chain(digests: list[bytes]) -> list[str]:
    """The chain digest after each block."""
    link, links = bytes(32), []
    for digest in digests:
        link = hashlib.sha256(link + digest).digest()
        links.append(link.hex())
    return links


def _read_blocks(file: BinaryIO, wanted: int) -> list[bytes]:
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise ValueError(f"header of {_HEADER.size} bytes expected, got {len(header)}")
    magic, version, stored = _HEADER.unpack(header)
    if magic != _MAGIC or version != _VERSION or stored > _LARGEST:
        raise ValueError(f"format {_MAGIC!r} version {_VERSION} expected, got {magic!r} version {version}")
    listed = file.read(32 * stored)
    digests = [listed[at : at + 32] for at in range(0, len(listed), 32)]
    _check_pins(digests)
    blocks: list[bytes] = []
    for number in range(min(wanted, len(digests))):
        block = file.read(BLOCK_BYTES)
        if hashlib.sha256(block).digest() != digests[number]:
            log.warning("generators: block %d is corrupted; it and those after it will be made again", number)
            break
        blocks.append(block)
    return blocks


def _check_pins(digests: list[bytes]) -> None:
    links = chain(digests)
    for count, pin in PINS.items():
        if count <= len(links) and links[count - 1] != pin:
            raise ValueError(f"the first {count} blocks hash to {links[count - 1]}, pinned is {pin}")
