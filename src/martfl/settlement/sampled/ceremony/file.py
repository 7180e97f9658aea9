"""A ceremony as one file that goes from hand to hand: a zip archive of its record and of compressed points."""

import json
import os
import re
import struct
import tempfile
import zipfile
from dataclasses import asdict
from pathlib import Path

from martfl.settlement.errors import FileError, SettlementError
from martfl.settlement.sampled import curve, keys
from martfl.settlement.sampled.ceremony import Ceremony
from martfl.settlement.sampled.ceremony.powers import Powers
from martfl.settlement.sampled.ceremony.transcript import from_json, to_json
from martfl.settlement.sampled.circuit import compile_circuit
from martfl.settlement.sampled.curve import Group, Point, PointTable
from martfl.settlement.sampled.groth16 import ProvingKey, domain_size
from martfl.settlement.sampled.statement import Shape
from martfl.values import Json

_POWERS: tuple[tuple[str, Group], ...] = (("tau_1", 1), ("tau_2", 2), ("alpha_1", 1), ("beta_1", 1), ("beta_2", 2))
_LARGEST = 1 << 28  # bytes of a file; its tables are smaller
_LARGEST_RECORD = 1 << 20
_LARGEST_DIRECTORY = 1 << 12
_LARGEST_DOMAIN = 1 << 19  # constraints: 128 providers with 126 samples and more
_DEEPEST = 8
_TEXT, _BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL), re.compile(r"[\[\]{}]")
_END = struct.Struct("<4s4H2LH")  # of an archive: mark, disks, entries, size and place of their list, comment
_LOCATOR_BYTES = 20


def save(ceremony: Ceremony, path: Path, *, shape: Shape) -> None:
    """Write beside `path`, then move: a reader never sees half a file."""
    record = {"version": keys.CIRCUIT_VERSION, "shape": asdict(shape), **to_json(ceremony.transcript)}
    powers = ceremony.powers
    tables = [powers.tau_1, powers.tau_2, powers.alpha_1, powers.beta_1, [powers.beta_2]]
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            archive.writestr("record.json", json.dumps(record, indent=1))
            for (entry, _), points in zip(_POWERS, tables, strict=True):
                archive.writestr(entry, _pack(points))
            for number, table in enumerate(keys.tables(ceremony.key) if ceremony.key else []):
                archive.writestr(f"key_{number}", _pack(table.points()))
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load(path: Path) -> tuple[Ceremony, Shape]:
    """A foreign file: sizes and points are checked here, that they fit together by `check`.

    Nothing is read, and no circuit made, before what the file claims is known to be of a possible size.
    """
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as archive:
            record = _record(_read(archive, "record.json", most=_LARGEST_RECORD))
            shape, transcript = _shape(record), from_json(record)
            _check_sizes(archive, shape)
            tau_1, tau_2, alpha_1, beta_1, (beta_2,) = (
                _unpack(_read(archive, entry), group=group) for entry, group in _POWERS
            )
            return Ceremony(transcript, Powers(tau_1, tau_2, alpha_1, beta_1, beta_2), _key(archive)), shape
    except (zipfile.BadZipFile, LookupError, TypeError, ValueError, EOFError, RuntimeError, struct.error) as error:
        if isinstance(error, SettlementError):
            raise
        raise FileError(f"{path.name} is not the file of a ceremony, or damaged: {str(error)[:200]}") from error


def _check_directory(path: Path) -> None:
    """The end of the archive: a handful of entries, none of the long forms that `save` never writes."""
    size = path.stat().st_size
    if not path.is_file() or not _END.size <= size <= _LARGEST:
        raise FileError(f"{path.name} is not the file of a ceremony: {_END.size} to {_LARGEST} bytes, got {size}")
    with path.open("rb") as file:
        file.seek(max(0, size - _END.size - _LOCATOR_BYTES))
        tail = file.read()
    mark, _, _, _, entries, listed, _, comment = _END.unpack(tail[-_END.size :])
    if mark != b"PK\5\6" or comment or entries > len(_POWERS) + len(keys.GROUPS) + 1 or listed > _LARGEST_DIRECTORY:
        raise FileError(f"{path.name} is not the file of a ceremony, or damaged: its list of entries is another one")
    if tail.startswith(b"PK\6\7"):
        raise FileError(f"{path.name} is not the file of a ceremony: it is written as a very large archive")


def _check_sizes(archive: zipfile.ZipFile, shape: Shape) -> None:
    """Every table has the size that the circuit of this shape asks for; first without making the circuit."""
    size = archive.getinfo("tau_2").file_size // 64
    least = shape.providers * shape.samples * (shape.update_bits + 1)  # bits and products of the updates alone
    if not least <= size <= _LARGEST_DOMAIN:
        raise FileError(
            f"a circuit of this shape has more than {least} constraints and at most {_LARGEST_DOMAIN} are read, "
            f"the file has points for {size}"
        )
    r1cs = compile_circuit(shape)
    size, count = domain_size(r1cs.constraints), r1cs.constraints
    points = [2 * size - 1, size, size, size, 1]
    expected = {entry: 32 * group * n for (entry, group), n in zip(_POWERS, points, strict=True)}
    if "key_0" in archive.namelist():
        parts = [3, r1cs.public, 3, count, size - 1, r1cs.wires - r1cs.public, count]
        expected |= {f"key_{i}": 32 * keys.GROUPS[i] * n for i, n in enumerate(parts)}
    for entry, length in expected.items():
        found = archive.getinfo(entry)
        if found.file_size != length or found.compress_type != zipfile.ZIP_STORED:
            raise FileError(f"{entry} has {length} bytes as they are for this circuit, the file has {found.file_size}")


def _key(archive: zipfile.ZipFile) -> ProvingKey | None:
    if "key_0" not in archive.namelist():
        return None
    return keys.assemble(
        [
            PointTable(group=group, points=_unpack(_read(archive, f"key_{number}"), group=group))
            for number, group in enumerate(keys.GROUPS)
        ]
    )


def _record(data: bytes) -> Json:
    """Parsed after its depth is known: deep nesting ends the process where a library has raised Python's own limit."""
    text, depth = data.decode(), 0
    for bracket in _BRACKET.finditer(_TEXT.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > _DEEPEST:
            raise FileError(f"the record of a ceremony is nested at most {_DEEPEST} deep, the file's is deeper")
    record: Json = json.loads(text)
    return record


def _shape(record: Json) -> Shape:
    version = record["version"]
    if version != keys.CIRCUIT_VERSION:
        raise FileError(f"the ceremony is for circuit version {str(version)[:20]}, this is {keys.CIRCUIT_VERSION}")
    stated = dict(record["shape"])
    if not all(type(value) is int and 0 <= value <= _LARGEST_DOMAIN for value in stated.values()):
        raise FileError(f"the numbers of a circuit's shape are integers from 0 to {_LARGEST_DOMAIN}")
    return Shape(**stated)


def _read(archive: zipfile.ZipFile, entry: str, *, most: int = _LARGEST) -> bytes:
    found = archive.getinfo(entry)
    if found.file_size > most or found.compress_type != zipfile.ZIP_STORED:
        raise FileError(f"{entry} is stored as it is, at most {most} bytes, the file claims {found.file_size}")
    return archive.read(entry)


def _pack(points: list[Point]) -> bytes:
    return b"".join(curve.compress(point) for point in points)


def _unpack(data: bytes, *, group: Group) -> list[Point]:
    size = 32 * group
    if len(data) % size:
        raise FileError(f"a table of G{group} points has a multiple of {size} bytes, got {len(data)}")
    return [curve.decompress(data[at : at + size], group=group) for at in range(0, len(data), size)]
