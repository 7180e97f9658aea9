"""A party's memory: an SQLite file in which every step is on disk before its consequence is relied on.

A step is of a kind (`steps`) and of an epoch; `once` runs its work the first time and recalls the result ever after, so
that a party killed at any point goes on by being started again. Secrets and large arrays are blobs beside the steps.
Remarks are what happened to whom, for reputation, reports and alarms.
"""

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from martfl.market.codec import from_json, to_json
from martfl.market.errors import JournalError
from martfl.market.steps import S, Step

NAME = "journal.sqlite"
SqlValue = str | bytes | int | float | None
VERSION = 3  # the form of steps and blobs; a journal of another form is refused

SCHEMA = """
CREATE TABLE IF NOT EXISTS steps (epoch INTEGER, step TEXT, label TEXT, value TEXT NOT NULL, at REAL NOT NULL,
                                  seconds REAL NOT NULL, PRIMARY KEY (epoch, step, label));
CREATE TABLE IF NOT EXISTS blobs (epoch INTEGER, name TEXT, data BLOB NOT NULL, PRIMARY KEY (epoch, name));
CREATE TABLE IF NOT EXISTS remarks (id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, subject TEXT NOT NULL,
                                    kind TEXT NOT NULL, detail TEXT NOT NULL, at REAL NOT NULL,
                                    UNIQUE (epoch, subject, kind));
"""


@dataclass(frozen=True)
class Entry:
    """A finished step: its result, when it was done and how long it took."""

    epoch: int
    label: str
    value: Step
    at: float
    seconds: float


@dataclass(frozen=True)
class Remark:
    """Something worth remembering about a party in an epoch."""

    epoch: int
    subject: str
    kind: str
    detail: str
    at: float


class Journal:
    """One party's journal in a folder of its own. A writer holds the folder alone; readers may look at any time.

    The party's own threads may share it: each write is whole.

    Examples:
        >>> from martfl.market.steps import KeyGiven
        >>> with Journal(Path('seller')) as journal:
        ...     first = journal.once(1, KeyGiven, lambda: KeyGiven(price=10))
        ...     again = journal.once(1, KeyGiven, lambda: KeyGiven(price=99))  # not run: the step is done
        ...     journal.remark(1, 'Alder', 'false update', 'leaf 3')
        ...     again.price, journal.remarks()[0].detail
        (10, 'leaf 3')
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.folder, self._turn = folder, threading.RLock()
        self._lock = None if read_only else _lock(folder)
        try:
            self._db = _open(folder / NAME, read_only=read_only)
        except sqlite3.Error as error:
            raise JournalError(f"the journal in {folder} cannot be opened: {error}") from error

    def close(self) -> None:
        """Let the folder go."""
        self._db.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- steps ---------------------------------------------------------------------------------------------------

    def once(self, epoch: int, kind: type[S], work: Callable[[], S], *, label: str = "") -> S:
        """The result of a step: recalled, or worked out now and written before it is returned."""
        known = self.recall(epoch, kind, label=label)
        if known is not None:
            return known
        begun = time.perf_counter()
        value = work()
        self.record(epoch, value, label=label, seconds=time.perf_counter() - begun)
        return value

    def recall(self, epoch: int, kind: type[S], *, label: str = "") -> S | None:
        """The result of a finished step, if it is finished."""
        query = "SELECT * FROM steps WHERE epoch = ? AND step = ? AND label = ?"
        row = self._read(query, epoch, kind.step, label)
        found = _entry(row[0]).value if row else None
        return found if isinstance(found, kind) else None

    def record(self, epoch: int, value: Step, *, label: str = "", seconds: float = 0.0) -> None:
        """Write a finished step; it must not be there yet."""
        row = (epoch, value.step, label, to_json(value), time.time(), seconds)
        self._write("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?)", *row)

    def entries(self, epoch: int | None = None) -> list[Entry]:
        """Everything finished, in the order of time."""
        where, values = ("", ()) if epoch is None else (" WHERE epoch = ?", (epoch,))
        return [_entry(row) for row in self._read(f"SELECT * FROM steps{where} ORDER BY at, rowid", *values)]

    def all_of(self, kind: type[S], epoch: int | None = None) -> list[S]:
        """The finished steps of one kind, in the order of time."""
        return [entry.value for entry in self.entries(epoch) if isinstance(entry.value, kind)]

    # --- blobs ---------------------------------------------------------------------------------------------------

    def keep(self, epoch: int, name: str, data: bytes) -> None:
        """Keep bytes under a name; the same name keeps its first content."""
        self._write("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)", epoch, name, data)

    def keep_all(self, epoch: int, blobs: Mapping[str, bytes]) -> None:
        """Keep several things that belong together: all of them, or none."""
        rows = [(epoch, name, data) for name, data in blobs.items()]
        with self._turn, _explained(self.folder), self._db:
            self._db.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)", rows)

    def blob(self, epoch: int, name: str) -> bytes | None:
        """The bytes kept under a name."""
        row = self._read("SELECT data FROM blobs WHERE epoch = ? AND name = ?", epoch, name)
        return bytes(row[0]["data"]) if row else None

    def forget(self, epoch: int, *, keep: frozenset[str] = frozenset()) -> None:
        """Delete the blobs of an epoch that nobody needs any more, but those named."""
        names = [row["name"] for row in self._read("SELECT name FROM blobs WHERE epoch = ?", epoch)]
        for name in set(names) - keep:
            self._write("DELETE FROM blobs WHERE epoch = ? AND name = ?", epoch, name)

    # --- remarks -------------------------------------------------------------------------------------------------

    def remark(self, epoch: int, subject: str, kind: str, detail: str) -> None:
        """Remember something about a party; said twice of one epoch, it counts once."""
        self._write(
            "INSERT OR IGNORE INTO remarks (epoch, subject, kind, detail, at) VALUES (?, ?, ?, ?, ?)",
            *(epoch, subject, kind, detail, time.time()),
        )

    def remarks(self, *, subject: str | None = None) -> list[Remark]:
        """What was remembered, oldest first."""
        where, values = ("", ()) if subject is None else (" WHERE subject = ?", (subject,))
        rows = self._read(f"SELECT epoch, subject, kind, detail, at FROM remarks{where} ORDER BY id", *values)
        return [Remark(**dict(row)) for row in rows]

    # --- plumbing ------------------------------------------------------------------------------------------------

    def _read(self, query: str, *values: SqlValue) -> list[sqlite3.Row]:
        with self._turn, _explained(self.folder):
            return self._db.execute(query, values).fetchall()

    def _write(self, query: str, *values: SqlValue) -> None:
        with self._turn, _explained(self.folder), self._db:  # commits, or leaves everything as it was
            self._db.execute(query, values)


def _lock(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise JournalError(f"another process is using the journal in {folder}") from error
    return lock


def _open(path: Path, *, read_only: bool) -> sqlite3.Connection:
    if read_only:
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)
    else:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # secrets lie in it
        database = sqlite3.connect(path, check_same_thread=False)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        _check_version(database, path)
        database.executescript(SCHEMA)
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.row_factory = sqlite3.Row
    _check_version(database, path)
    return database


def _check_version(database: sqlite3.Connection, path: Path) -> None:
    """A journal that is there must be of this form; one that is being made has no form yet."""
    (found,) = database.execute("PRAGMA user_version").fetchone()
    made = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'steps'").fetchone()[0]
    if made and found != VERSION:
        raise JournalError(
            f"{path} is a journal of form {found or 1}, this version reads form {VERSION}: old markets are read-only, "
            "with the version of martfl that made them"
        )


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise JournalError(f"the journal in {folder} failed, and nothing was half-written: {error}") from error


def _entry(row: sqlite3.Row) -> Entry:
    return Entry(row["epoch"], row["label"], from_json(row["step"], row["value"]), row["at"], row["seconds"])
