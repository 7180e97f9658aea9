"""How many scores a seller has given each buyer since it last sold to it: across epochs, models, restarts and markets.

A score is one number about an update that nobody has paid for. With enough of them a buyer could read the update, so a
seller counts them for each buyer's wallet, in one file for all its markets, and refuses when the terms' number is
reached. A sale starts the count anew: what was sold may be known.
"""

import sqlite3
from pathlib import Path

from martfl.market.errors import JournalError, MarketError

SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (chain INTEGER, buyer TEXT, market TEXT, epoch INTEGER, baseline INTEGER,
                                    PRIMARY KEY (chain, buyer, market, epoch, baseline));
CREATE TABLE IF NOT EXISTS sales (chain INTEGER, buyer TEXT, market TEXT, epoch INTEGER,
                                  PRIMARY KEY (chain, buyer, market, epoch));
"""


class Meter:
    """A seller's count of answers; one file serves all its markets, and several processes at once."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._db = sqlite3.connect(path, check_same_thread=False, timeout=60.0, isolation_level=None)
            self._db.executescript(SCHEMA)
        except sqlite3.Error as error:
            raise JournalError(f"the count of answers in {path} cannot be opened: {error}") from error

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def count(self, *, chain_id: int, buyer: str) -> int:
        """Answers given to a buyer since the last sale to it."""
        query = "SELECT count(*) FROM answers WHERE chain = ? AND buyer = ?"
        return int(self._db.execute(query, (chain_id, buyer.lower())).fetchone()[0])

    def spend(self, *, chain_id: int, buyer: str, market: str, epoch: int, baseline: int, limit: int) -> None:
        """Count one answer, before it is given; refuse beyond the limit. The same answer again is not counted again."""
        row = (chain_id, buyer.lower(), market.lower(), epoch, baseline)
        self._db.execute("BEGIN IMMEDIATE")
        try:
            known = self._db.execute(
                "SELECT 1 FROM answers WHERE chain = ? AND buyer = ? AND market = ? AND epoch = ? AND baseline = ?", row
            ).fetchone()
            if known is None and self.count(chain_id=chain_id, buyer=buyer) >= limit:
                raise MarketError(
                    f"{limit} scores were given to {buyer} since the last sale to it: no more before the next sale"
                )
            self._db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", row)
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def sold(self, *, chain_id: int, buyer: str, market: str, epoch: int) -> None:
        """A sale to a buyer: once for each epoch, it starts the count anew."""
        row = (chain_id, buyer.lower(), market.lower(), epoch)
        self._db.execute("BEGIN IMMEDIATE")
        try:
            fresh = self._db.execute("INSERT OR IGNORE INTO sales VALUES (?, ?, ?, ?)", row).rowcount
            if fresh:
                self._db.execute("DELETE FROM answers WHERE chain = ? AND buyer = ?", row[:2])
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
