"""Keys on disk, for each shape of the circuit: those of a ceremony, and those that one party made alone.

    magic ‖ version ‖ circuit version ‖ shape tag ‖ table sizes ‖ tables ‖ sha256 of all that

The folder is `MARTFL_CACHE`, else the user's cache folder. Secrets of the set-up are not in the file: it holds points.
A key that was made alone is for trials: whoever made it could have kept the secrets. It is remade when its file is
damaged. A ceremony's key is stored by `install`, after its check, and never made here.
"""

import hashlib
import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

from martfl.settlement.errors import FileError, SettlementError
from martfl.settlement.keccak import keccak, word
from martfl.settlement.sampled import curve
from martfl.settlement.sampled.circuit import compile_circuit
from martfl.settlement.sampled.curve import Group, PointTable
from martfl.settlement.sampled.groth16 import ProvingKey, VerifyingKey, setup
from martfl.settlement.sampled.statement import Shape

CIRCUIT_VERSION = 1  # raise it whenever `circuit` changes: old keys are then remade
_MAGIC = b"martfl-groth16-bn254"
_HEADER = struct.Struct(">20sHH64s7Q")
GROUPS: tuple[Group, ...] = (1, 1, 2, 1, 1, 1, 2)  # fixed G1, IC, fixed G2, and the four tables as written below


def cache_folder() -> Path:
    """`MARTFL_CACHE`, else XDG's cache folder, else ~/.cache."""
    named = os.environ.get("MARTFL_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "martfl"


def ceremony_keys(shape: Shape, *, folder: Path | None = None) -> ProvingKey:
    """The installed key of a ceremony for `shape`."""
    path = _path(shape, folder, "-ceremony")
    if not path.exists():
        raise SettlementError(
            f"no key of a ceremony is installed for {shape.providers} providers and {shape.samples} samples; "
            "hold one among the parties (`martfl ceremony start`) and `martfl ceremony install` its file"
        )
    return load(path, shape=shape)


def install(key: ProvingKey, *, shape: Shape, folder: Path | None = None) -> Path:
    """Store the key of a ceremony that was checked; gives the file."""
    path = _path(shape, folder, "-ceremony")
    path.parent.mkdir(parents=True, exist_ok=True)
    save(key, path, shape=shape)
    return path


def cached_keys(shape: Shape, *, folder: Path | None = None) -> ProvingKey:
    """Keys made alone, on this machine, from the cache or made and cached now: for trials.

    Examples:
        >>> shape = Shape(providers=1, samples=1)
        >>> key = cached_keys(shape, folder=Path('cache'))
        >>> again = cached_keys(shape, folder=Path('cache'))
        >>> len(key.verifying.ic) == 1 + shape.public_inputs, key_hash(again.verifying) == key_hash(key.verifying)
        (True, True)
    """
    path = _path(shape, folder, "")
    if path.exists():
        try:
            return load(path, shape=shape)
        except FileError:
            path.unlink()  # damaged: nothing can be saved from it
    key = setup(compile_circuit(shape))
    path.parent.mkdir(parents=True, exist_ok=True)
    save(key, path, shape=shape)
    return key


def _path(shape: Shape, folder: Path | None, kind: str) -> Path:
    return (folder or cache_folder()) / f"groth16-{shape.tag}-v{CIRCUIT_VERSION}{kind}.key"


def save(key: ProvingKey, path: Path, *, shape: Shape) -> None:
    """Write beside `path`, then move: a reader never sees half a file."""
    parts = [table.to_bytes() for table in tables(key)]
    body = _HEADER.pack(_MAGIC, 1, CIRCUIT_VERSION, shape.tag.encode(), *map(len, parts)) + b"".join(parts)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(body + hashlib.sha256(body).digest())
    Path(file.name).replace(path)


def load(path: Path, *, shape: Shape) -> ProvingKey:
    """Read and check; points are made when a proof needs them."""
    raw = path.read_bytes()
    body, digest = raw[:-32], raw[-32:]
    if len(raw) < _HEADER.size + 32 or hashlib.sha256(body).digest() != digest:
        raise FileError(f"{path.name} is truncated or corrupted: its hash does not match")
    magic, version, circuit, tag, *sizes = _HEADER.unpack_from(body)
    if (magic, version, circuit, tag.rstrip(b"\0")) != (_MAGIC, 1, CIRCUIT_VERSION, shape.tag.encode()):
        raise FileError(f"{path.name} holds keys of another kind than {shape.tag}, circuit version {CIRCUIT_VERSION}")
    return assemble(list(_cut(body, sizes)))


def key_hash(key: VerifyingKey) -> bytes:
    """keccak over α, β, γ, δ, IC as 32-byte words, G2 coordinates with the imaginary part first (as EIP-197 wants).

    Examples:
        >>> g1, g2 = curve.generator(1), curve.generator(2)
        >>> key_hash(VerifyingKey(g1, g2, g2, g2, (g1, g1))).hex()[:16]
        '7b054abfb2979b14'
    """
    return keccak(b"".join(word(x) for x in key_words(key)))


def key_words(key: VerifyingKey) -> list[int]:
    """The key as the contract takes it: α (2 words), β, γ, δ (4 each: x_1, x_0, y_1, y_0), then IC (2 each).

    Examples:
        >>> g1, g2 = curve.generator(1), curve.generator(2)
        >>> words = key_words(VerifyingKey(g1, g2, g2, g2, (g1, g1)))
        >>> len(words), words[:2]
        (18, [1, 2])
    """
    words = list(curve.coordinates(key.alpha_1, group=1))
    for point in (key.beta_2, key.gamma_2, key.delta_2):
        words += g2_words(point)
    for point in key.ic:
        words += curve.coordinates(point, group=1)
    return words


def g2_words(point: curve.Point) -> list[int]:
    """x_1, x_0, y_1, y_0: the order of EIP-197."""
    x0, x1, y0, y1 = curve.coordinates(point, group=2)
    return [x1, x0, y1, y0]


def tables(key: ProvingKey) -> list[PointTable]:
    """The key as tables, in the order of the file."""
    vk = key.verifying
    return [
        PointTable(group=1, points=[vk.alpha_1, key.beta_1, key.delta_1]),
        PointTable(group=1, points=vk.ic),
        PointTable(group=2, points=[vk.beta_2, vk.gamma_2, vk.delta_2]),
        key.lagrange_1,
        key.quotient,
        key.private,
        key.lagrange_2,
    ]


def _cut(body: bytes, sizes: list[int]) -> Iterator[PointTable]:
    if _HEADER.size + sum(sizes) != len(body):
        raise FileError(f"tables of {sum(sizes)} bytes do not fill {len(body) - _HEADER.size}")
    at = _HEADER.size
    for group, size in zip(GROUPS, sizes, strict=True):
        yield PointTable(group=group, data=body[at : at + size])
        at += size


def assemble(parts: list[PointTable]) -> ProvingKey:
    """The inverse of `tables`."""
    fixed_1, ic, fixed_2, lagrange_1, quotient, private, lagrange_2 = parts
    alpha, beta_1, delta_1 = (fixed_1.point(i) for i in range(3))
    beta_2, gamma_2, delta_2 = (fixed_2.point(i) for i in range(3))
    verifying = VerifyingKey(alpha, beta_2, gamma_2, delta_2, tuple(ic.point(i) for i in range(len(ic))))
    return ProvingKey(beta_1, delta_1, lagrange_1, lagrange_2, quotient, private, verifying)
