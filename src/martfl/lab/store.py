"""Results on disk: for an experiment one file of runs, a JSON object a line, and one of all their rounds, CSV; in gzip.

Both are appended to, the rounds first, under a lock on the folder: any number of processes may write. A gzip file
may consist of several streams: a run is added as one, and so are its rounds; what an interruption has cut off is
passed over by readers and removed by the next writer. `compact` writes both files anew, without what was superseded.
"""

from __future__ import annotations

import csv
import dataclasses
import fcntl
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from martfl.lab.folders import PLAIN_RUNS, ROUNDS, RUNS
from martfl.lab.metrics import RoundRow
from martfl.lab.records import read_lines, to_lines
from martfl.lab.result import RunResult

COLUMNS = tuple(f.name for f in dataclasses.fields(RoundRow) if not f.name.endswith("seconds"))  # runs keep medians
DIGITS = 6
CHUNK = 4096  # bytes
HEAD = ("run", *COLUMNS)
Row = dict[str, float | None]


class Store:
    """A folder of results of one experiment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines = folder / RUNS
        self.plain = folder / PLAIN_RUNS
        self.curves = folder / ROUNDS

    def checkpoint(self, key: str) -> Path:
        """Where a run keeps its progress."""
        return self.folder / "checkpoints" / f"{key}.pt"

    def records(self) -> list[RunResult]:
        """One result for every run, without its rounds: the last one of the present code, else the last one."""
        return _chosen(self._results())

    def finished(self) -> set[str]:
        """The runs that need not be run again: those of the present code that ended, in whatever state of the model."""
        return {record.id for record in self.records() if record.status != "failed" and not record.old}

    def rounds(self) -> dict[str, list[Row]]:
        """The rounds of all runs by the runs' keys."""
        found: dict[str, list[Row]] = {}
        for row in csv.DictReader(io.StringIO(_unpacked(self.curves)[0])):
            numbers = {name: float(text) if text else None for name, text in row.items() if name != "run"}
            if numbers["round"] == 1:
                found[row["run"]] = []  # two processes may have made the same run
            found.setdefault(row["run"], []).append(numbers)
        return found

    def append(self, result: RunResult) -> None:
        """Add a run; nothing of it is there before all of its rounds are."""
        with self._locked():
            text, end = _unpacked(self.curves)
            if self.plain.is_file() or not text.startswith(_csv([HEAD])):
                self._write(self.records(), self.rounds())  # new, or of an older form
                text, end = _unpacked(self.curves)
            rows = _rows(result.key, (dataclasses.asdict(row) for row in result.history))
            _add(self.curves, _csv(rows), at=end)
            text, end = _unpacked(self.lines)
            _add(self.lines, to_lines([result], after=text), at=end)

    def compact(self, *, drop_old: bool = False) -> int:
        """Both files anew, each in one stream, with the runs that `records` gives; readers see the old or the new.

        `drop_old` leaves out those of older code, and the files if nothing else is there. Returns their number.
        """
        with self._locked():
            found = self.records()
            kept = [record for record in found if not (drop_old and record.old)]
            self._write(kept, self.rounds())
            if drop_old and not kept:
                self.lines.unlink()
                self.curves.unlink()
            return len(found) - len(kept)

    def take(self, other: Store) -> int:
        """Add the results of another machine's folder; how many runs are here now."""
        with self._locked():
            kept = _chosen([*self._results(), *other._results()])
            self._write(kept, {**self.rounds(), **other.rounds()})
            return len(kept)

    def _results(self) -> Iterator[RunResult]:
        plain = _read(self.plain).decode()  # first: a writer removes it when all of it is packed
        return read_lines(f"{plain}\n{_unpacked(self.lines)[0]}")

    def _write(self, records: Sequence[RunResult], rounds: Mapping[str, Sequence[Row]]) -> None:
        rows = (row for record in records for row in _rows(record.key, rounds.get(record.key, ())))
        _replace(self.curves, _csv([HEAD, *rows]))
        _replace(self.lines, to_lines(records))
        self.plain.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)  # and the lock with it


def _chosen(records: Iterable[RunResult]) -> list[RunResult]:
    """Of every run the last result of the present code, else the last one."""
    found: dict[tuple[str, str], RunResult] = {}
    for record in records:
        place = (record.id, record.name)
        if place not in found or found[place].old or not record.old:
            found[place] = record
    return list(found.values())


def _rows(key: str, rounds: Iterable[Row]) -> list[tuple[str, ...]]:
    return [(key, *(_text(row.get(column)) for column in COLUMNS)) for row in rounds]


def _text(value: float | None) -> str:
    """A number as short as it can be; nothing where nothing was measured."""
    return "" if value is None else f"{round(value, DIGITS):g}" if value == int(value) else repr(round(value, DIGITS))


def _csv(rows: Iterable[tuple[str, ...]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _packed(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _unpacked(path: Path) -> tuple[str, int]:
    """The text of all whole streams of a file, and where the last of them ends."""
    raw = _read(path)
    parts: list[bytes] = []
    whole = 0
    while whole < len(raw):
        stream, at, part = zlib.decompressobj(wbits=31), whole, b""
        try:
            while at < len(raw) and not stream.eof:
                part += stream.decompress(raw[at : at + CHUNK])
                at += CHUNK
        except zlib.error:
            break
        if not stream.eof:
            break
        parts.append(part)
        whole = min(at, len(raw)) - len(stream.unused_data)
    return b"".join(parts).decode(), whole


def _add(path: Path, text: str, *, at: int) -> None:
    """One more stream, after the last whole one, which ends there."""
    with path.open("ab") as file:
        file.truncate(at)
        file.write(_packed(text))


def _replace(path: Path, text: str) -> None:
    aside = path.with_name(f"{path.name}.part")
    aside.write_bytes(_packed(text))
    aside.replace(path)
