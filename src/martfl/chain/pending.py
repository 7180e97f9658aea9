"""The transactions that were signed for a JSON-RPC chain, written down before they are sent.

A `PendingTransaction` is one call with one nonce; it has several `attempts` when its fee was raised. All attempts share
the nonce, so the chain can accept at most one of them: that makes it safe to send them again and again.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from martfl.chain.network import UnsignedCall
from martfl.chain.sqlite import open_exclusive

SCHEMA = (
    """CREATE TABLE IF NOT EXISTS entries (
        id INTEGER PRIMARY KEY, chain INTEGER NOT NULL, sender TEXT NOT NULL, nonce INTEGER NOT NULL, key TEXT,
        target TEXT, data BLOB NOT NULL, value TEXT NOT NULL, gas INTEGER NOT NULL, done INTEGER NOT NULL DEFAULT 0,
        UNIQUE (chain, sender, key))""",
    """CREATE TABLE IF NOT EXISTS attempts (
        id INTEGER PRIMARY KEY, entry INTEGER NOT NULL REFERENCES entries (id) ON DELETE CASCADE,
        hash TEXT NOT NULL, raw BLOB NOT NULL, max_fee INTEGER NOT NULL, tip INTEGER NOT NULL)""",
)
FIELDS = "id, sender, nonce, key, target, data, value, gas"


@dataclass(frozen=True)
class Fees:
    """Wei for a unit of gas: the most that may be paid, and the part of it that goes to the block's maker."""

    max_fee: int
    tip: int


@dataclass(frozen=True)
class Attempt:
    """One signed form of an entry."""

    hash: str
    raw: bytes
    fees: Fees


@dataclass(frozen=True)
class PendingTransaction:
    """A call that has its nonce; `id` is 0 until it is written down."""

    id: int
    sender: str
    nonce: int
    key: str | None
    call: UnsignedCall
    gas: int


class PendingStore:
    """Entries and attempts of one chain in SQLite."""

    def __init__(self, path: Path | None, *, chain_id: int) -> None:
        self._file = open_exclusive(path, SCHEMA)
        self._file.execute("PRAGMA foreign_keys = ON")
        self._chain = chain_id
        # Nobody will ask again for a step without a key that an earlier run left behind; its nonce may be used anew.
        with self._file:
            self._file.execute("DELETE FROM entries WHERE key IS NULL AND NOT done")

    def find(self, *, sender: str, key: str) -> PendingTransaction | None:
        """The entry that was made under `key`."""
        found = self._entries("sender = ? AND key = ?", sender, key)
        return found[0] if found else None

    def open(self, *, sender: str) -> list[PendingTransaction]:
        """The sender's entries that are not known to be on the chain, in order of their nonces."""
        return self._entries("sender = ? AND NOT done ORDER BY nonce", sender)

    def add(self, draft: PendingTransaction, first: Attempt) -> PendingTransaction:
        """Write an entry and its first signed form down; on disk when it returns. The entry comes back with its id."""
        call = draft.call
        values = (self._chain, draft.sender, draft.nonce, draft.key, call.to, call.data, str(call.value), draft.gas)
        with self._file:
            cursor = self._file.execute(
                "INSERT INTO entries (chain, sender, nonce, key, target, data, value, gas) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            assert cursor.lastrowid is not None
            entry = replace(draft, id=cursor.lastrowid)
            self._insert(entry, first)
        return entry

    def attempt(self, entry: PendingTransaction, attempt: Attempt) -> None:
        """Write a further signed form down."""
        with self._file:
            self._insert(entry, attempt)

    def attempts(self, entry: PendingTransaction) -> list[Attempt]:
        """All signed forms of an entry, the newest last."""
        rows = self._file.execute(
            "SELECT hash, raw, max_fee, tip FROM attempts WHERE entry = ? ORDER BY id", (entry.id,)
        )
        return [Attempt(name, raw, Fees(max_fee, tip)) for name, raw, max_fee, tip in rows]

    def finish(self, entry: PendingTransaction) -> None:
        """The entry is on the chain, deep enough."""
        with self._file:
            self._file.execute("UPDATE entries SET done = 1 WHERE id = ?", (entry.id,))

    def forget(self, entry: PendingTransaction) -> None:
        """Release the key: none of the attempts had an effect, and none can have one any more."""
        with self._file:
            self._file.execute("DELETE FROM entries WHERE id = ?", (entry.id,))

    def close(self) -> None:
        self._file.close()

    def _insert(self, entry: PendingTransaction, attempt: Attempt) -> None:
        self._file.execute(
            "INSERT INTO attempts (entry, hash, raw, max_fee, tip) VALUES (?, ?, ?, ?, ?)",
            (entry.id, attempt.hash, attempt.raw, attempt.fees.max_fee, attempt.fees.tip),
        )

    def _entries(self, where: str, *values: str) -> list[PendingTransaction]:
        rows = self._file.execute(f"SELECT {FIELDS} FROM entries WHERE chain = ? AND {where}", (self._chain, *values))
        return [
            PendingTransaction(number, sender, nonce, key, UnsignedCall(target, data, int(value)), gas)
            for number, sender, nonce, key, target, data, value, gas in rows
        ]
