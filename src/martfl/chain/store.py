"""The embedded chain's database: py-evm's keys and values, kept in one SQLite file.

A block is applied to a scratch layer first. `commit` writes the layer in one SQLite transaction (synced to disk),
`rollback` forgets it: a program killed at any point finds the chain as it was after its last whole block. The file is
held under SQLite's exclusive lock, so a second program that opens it is refused.
"""

from pathlib import Path

from eth.db.backends.base import BaseDB

from martfl.chain.network import ChainError
from martfl.chain.sqlite import open_exclusive

SCHEMA = ("CREATE TABLE IF NOT EXISTS nodes (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",)

Values = dict[bytes, bytes | None]  # None: deleted


class NodeStore(BaseDB):
    """A dictionary of bytes with a scratch layer, snapshots, and a file underneath when `path` is given."""

    def __init__(self, path: Path | None = None) -> None:
        self._scratch: Values = {}
        self._kept: Values = {}  # what the file holds, as far as it has been read or written; all of it without a file
        self._undo: list[Values] = []  # one per snapshot: the value that each key had when the snapshot was taken
        self._file = open_exclusive(path, SCHEMA) if path is not None else None

    def __getitem__(self, key: bytes) -> bytes:
        value = self._scratch[key] if key in self._scratch else self._committed(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self._scratch[key] = bytes(value)

    def __delitem__(self, key: bytes) -> None:
        self[key]  # raises KeyError where there is nothing to delete
        self._scratch[key] = None

    def _exists(self, key: bytes) -> bool:
        return (self._scratch[key] if key in self._scratch else self._committed(key)) is not None

    def _committed(self, key: bytes) -> bytes | None:
        if key not in self._kept:
            if self._file is None:
                return None
            row = self._file.execute("SELECT value FROM nodes WHERE key = ?", (key,)).fetchone()
            self._kept[key] = None if row is None else bytes(row[0])
        return self._kept[key]

    def commit(self) -> None:
        """Make the scratch layer permanent, all of it or nothing."""
        if self._undo:
            level = self._undo[-1]
            level.update({key: self._committed(key) for key in self._scratch if key not in level})
        self._write(self._scratch)
        self._scratch = {}

    def rollback(self) -> None:
        """Forget the scratch layer."""
        self._scratch = {}

    def snapshot(self) -> int:
        """Remember the present contents; the number is for `revert`."""
        self._undo.append({})
        return len(self._undo) - 1

    def revert(self, number: int) -> None:
        """Go back to snapshot `number`, which stays valid; later ones are forgotten."""
        if not 0 <= number < len(self._undo):
            raise ChainError(f"a snapshot must be one of the {len(self._undo)} taken, got {number}")
        before: Values = {}
        for level in reversed(self._undo[number:]):
            before.update(level)  # the oldest level is applied last and wins
        self._undo[number:] = [{}]
        self._scratch = {}
        self._write(before)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self, changes: Values) -> None:
        if self._file is not None:
            with self._file:
                kept = [(key, value) for key, value in changes.items() if value is not None]
                gone = [(key,) for key, value in changes.items() if value is None]
                self._file.executemany("INSERT OR REPLACE INTO nodes VALUES (?, ?)", kept)
                self._file.executemany("DELETE FROM nodes WHERE key = ?", gone)
        self._kept.update(changes)
