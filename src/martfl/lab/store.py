"""Results on disk: for an experiment one file of runs, a JSON object a line, and one of all their rounds, CSV in gzip.

Both are appended to, the rounds first, under a lock on the folder: any number of processes may write. A gzip file
may consist of several streams, so that a run's rounds are added as one; what an interruption has cut off is passed
over by readers and removed by the next writer. `compact` writes both files anew, without what was superseded.
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

from martfl.lab.metrics import RoundRow
from martfl.lab.records import append_line, read_lines, to_lines
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
        self.lines = folder / "runs.jsonl"
        self.curves = folder / "rounds.csv.gz"

    def checkpoint(self, key: str) -> Path:
        """Where a run keeps its progress."""
        return self.folder / "checkpoints" / f"{key}.pt"

    def records(self) -> list[RunResult]:
        """One result for every run, without its rounds: the last one of the present code, else the last one."""
        return _chosen(read_lines(self.lines))

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
            text, whole = _unpacked(self.curves)
            if text and text.partition("\n")[0] != ",".join(HEAD):
                self._write(self.records(), self.rounds())  # rounds have other columns by now
                text, whole = _unpacked(self.curves)
            rows = _rows(result.key, (dataclasses.asdict(row) for row in result.history))
            with self.curves.open("ab") as file:
                file.truncate(whole)
                file.write(_packed(rows if text else [HEAD, *rows]))
            append_line(self.lines, result)

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
            kept = _chosen([*read_lines(self.lines), *read_lines(other.lines)])
            self._write(kept, {**self.rounds(), **other.rounds()})
            return len(kept)

    def _write(self, records: Sequence[RunResult], rounds: Mapping[str, Sequence[Row]]) -> None:
        rows = (row for record in records for row in _rows(record.key, rounds.get(record.key, ())))
        _replace(self.curves, _packed([HEAD, *rows]))
        _replace(self.lines, to_lines(records).encode())

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


def _packed(rows: Iterable[tuple[str, ...]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return gzip.compress(out.getvalue().encode(), mtime=0)


def _unpacked(path: Path) -> tuple[str, int]:
    """The text of all whole streams of a file, and where the last of them ends."""
    raw = path.read_bytes() if path.is_file() else b""
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


def _replace(path: Path, content: bytes) -> None:
    aside = path.with_name(f"{path.name}.part")
    aside.write_bytes(content)
    aside.replace(path)
