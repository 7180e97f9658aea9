"""A ceremony as one file that goes from hand to hand: a zip archive of its record and of compressed points."""

import json
import os
import tempfile
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from martfl.settlement.errors import CeremonyError, FileError, SettlementError
from martfl.settlement.sampled import curve, keys
from martfl.settlement.sampled.ceremony import Ceremony
from martfl.settlement.sampled.ceremony.powers import Powers
from martfl.settlement.sampled.ceremony.transcript import from_json, to_json
from martfl.settlement.sampled.curve import Group, Point, PointTable
from martfl.settlement.sampled.groth16 import ProvingKey
from martfl.settlement.sampled.statement import Shape

_POWERS: tuple[tuple[str, Group], ...] = (("tau_1", 1), ("tau_2", 2), ("alpha_1", 1), ("beta_1", 1), ("beta_2", 2))
_LARGEST = 1 << 30  # bytes of a table; a file that claims more is not read


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
    """A foreign file: points are checked here, that they fit together by `check`."""
    try:
        with zipfile.ZipFile(path) as archive:
            record = json.loads(_read(archive, "record.json"))
            shape = _shape(record)
            tau_1, tau_2, alpha_1, beta_1, beta_2 = (
                _unpack(_read(archive, entry), group=group) for entry, group in _POWERS
            )
            powers = Powers(tau_1, tau_2, alpha_1, beta_1, beta_2[0])
            return Ceremony(from_json(record), powers, _key(archive)), shape
    except (zipfile.BadZipFile, LookupError, TypeError, ValueError, EOFError, NotImplementedError) as error:
        if isinstance(error, SettlementError):
            raise
        raise FileError(f"{path.name} is not the file of a ceremony, or damaged: {error}") from error


def _key(archive: zipfile.ZipFile) -> ProvingKey | None:
    if "key_0" not in archive.namelist():
        return None
    parts = [
        PointTable(group=group, points=_unpack(_read(archive, f"key_{number}"), group=group))
        for number, group in enumerate(keys.GROUPS)
    ]
    if len(parts[0]) != 3 or len(parts[2]) != 3:
        raise CeremonyError(f"a key has three fixed points in each group, got {len(parts[0])} and {len(parts[2])}")
    return keys.assemble(parts)


def _shape(record: dict[str, Any]) -> Shape:
    if record["version"] != keys.CIRCUIT_VERSION:
        raise FileError(f"the ceremony is for circuit version {record['version']}, this is {keys.CIRCUIT_VERSION}")
    return Shape(**{name: int(value) for name, value in dict(record["shape"]).items()})


def _read(archive: zipfile.ZipFile, entry: str) -> bytes:
    if archive.getinfo(entry).file_size > _LARGEST:
        raise FileError(f"{entry} claims {archive.getinfo(entry).file_size} bytes, at most {_LARGEST} are read")
    return archive.read(entry)


def _pack(points: list[Point]) -> bytes:
    return b"".join(curve.compress(point) for point in points)


def _unpack(data: bytes, *, group: Group) -> list[Point]:
    size = 32 * group
    if len(data) % size:
        raise FileError(f"a table of G{group} points has a multiple of {size} bytes, got {len(data)}")
    return [curve.decompress(data[at : at + size], group=group) for at in range(0, len(data), size)]
