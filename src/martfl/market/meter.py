"""How many scores a seller has given each buyer since it last sold to it: across epochs, models, restarts and markets.

A score is one number about an update that nobody has paid for. With enough of them a buyer could read the update, so a
seller counts them for each buyer's wallet, in one file for all its markets on all chains, and refuses when the terms'
number is reached. A sale starts the count anew: what was sold may be known.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from martfl.market.errors import JournalError, MarketError

SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (chain INTEGER, buyer TEXT, market TEXT, epoch INTEGER, baseline INTEGER,
                                    PRIMARY KEY (chain, buyer, market, epoch, baseline));
CREATE TABLE IF NOT EXISTS sales (chain INTEGER, buyer TEXT, market TEXT, epoch INTEGER,
                                  PRIMARY KEY (chain, buyer, market, epoch));
"""
KNOWN = "SELECT 1 FROM answers WHERE chain = ? AND buyer = ? AND market = ? AND epoch = ? AND baseline = ?"


class Meter:
    """A seller's count of answers; one file serves all its markets, and several processes at once."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path, self._turn = path, threading.RLock()
        try:
            self._db = sqlite3.connect(path, check_same_thread=False, timeout=60.0, isolation_level=None)
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(SCHEMA)
        except sqlite3.Error as error:
            raise JournalError(f"the count of answers in {path} cannot be opened: {error}") from error

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def count(self, *, buyer: str) -> int:
        """Answers given to a buyer since the last sale to it."""
        with self._turn:
            row = self._db.execute("SELECT count(*) FROM answers WHERE buyer = ?", (buyer.lower(),)).fetchone()
        return int(row[0])

    def spend(self, *, chain_id: int, buyer: str, market: str, epoch: int, baseline: int, limit: int) -> None:
        """Count one answer, before it is given; refuse beyond the limit. The same answer again is not counted again."""
        row = (chain_id, buyer.lower(), market.lower(), epoch, baseline)
        with self._change():
            if self._db.execute(KNOWN, row).fetchone() is not None:
                return
            if self.count(buyer=buyer) >= limit:
                raise MarketError(
                    f"{limit} scores were given to {buyer} since the last sale to it: no more before the next sale"
                )
            self._db.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", row)

    def sold(self, *, chain_id: int, buyer: str, market: str, epoch: int) -> None:
        """A sale to a buyer: once for each epoch, it starts the count anew."""
        row = (chain_id, buyer.lower(), market.lower(), epoch)
        with self._change():
            if self._db.execute("INSERT OR IGNORE INTO sales VALUES (?, ?, ?, ?)", row).rowcount:
                self._db.execute("DELETE FROM answers WHERE buyer = ?", (buyer.lower(),))

    @contextmanager
    def _change(self) -> Iterator[None]:
        """One change, alone in the file: whole, or not at all."""
        with self._turn:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self._db.execute("COMMIT")
                except BaseException:
                    self._db.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise JournalError(f"the count of answers in {self._path} failed: {error}") from error
