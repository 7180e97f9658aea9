"""How many scores a seller has given each buyer since it last sold to it: across epochs, models, restarts and markets.

A score is one number about an update that nobody has paid for. With enough of them a buyer could read the update, so a
seller counts them for each buyer's wallet, in one file for all its markets on all chains, and refuses when its own
number is reached, or the terms' where that is smaller: terms are the buyer's.

A sale forgives what may be known by then: the answers in its own market, and those in other markets of the buyer where
the seller asks no more than the sale paid, in the same money. So whoever is answered `limit` times about updates of an
ask has paid that ask. A sale in a cheap market, or in coins of no worth, opens no dear one.

The same file says when something of the wallet may have to go on chain: transactions of one wallet wait for each other,
whatever the market.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from martfl.market.errors import JournalError, MarketError

SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (chain INTEGER, buyer TEXT, market TEXT, epoch INTEGER, baseline INTEGER,
                                    digest TEXT, PRIMARY KEY (chain, buyer, market, epoch, baseline));
CREATE TABLE IF NOT EXISTS sales (chain INTEGER, buyer TEXT, market TEXT, epoch INTEGER,
                                  PRIMARY KEY (chain, buyer, market, epoch));
CREATE TABLE IF NOT EXISTS ends (chain INTEGER, market TEXT, epoch INTEGER, key INTEGER, last INTEGER);
DROP TABLE IF EXISTS windows;
CREATE TABLE IF NOT EXISTS asks (chain INTEGER, market TEXT, token TEXT, ask TEXT, PRIMARY KEY (chain, market));
"""
OPEN = """SELECT DISTINCT chain, market, token, ask FROM answers LEFT JOIN asks USING (chain, market) WHERE buyer = ?"""
ANSWERS = 16  # that a seller gives a buyer between two sales, unless it says otherwise
KNOWN = "SELECT digest FROM answers WHERE chain = ? AND buyer = ? AND market = ? AND epoch = ? AND baseline = ?"


@dataclass(frozen=True, kw_only=True)
class Stall:
    """Where a seller sells, to whom, and for which money (a token's address; zero: the chain's coin)."""

    chain_id: int
    market: str
    buyer: str
    token: str

    @property
    def place(self) -> tuple[int, str]:
        """The market, wherever it is."""
        return self.chain_id, self.market.lower()

    @property
    def money(self) -> str:
        """The token, in one spelling."""
        return self.token.lower()


@dataclass(frozen=True, kw_only=True)
class Window:
    """Something may have to go on chain by its last second: a key, or a commitment."""

    market: str
    epoch: int
    key: bool
    last: int


class Meter:
    """A seller's count of answers; one file serves all its markets, and several processes at once."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path, self._turn = path, threading.RLock()
        try:
            self._db = sqlite3.connect(path, check_same_thread=False, timeout=60.0, isolation_level=None)
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(SCHEMA)
            self._bring_up_to_date()
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

    def spend(self, stall: Stall, *, epoch: int, baseline: int, digest: str, ask: int, limit: int) -> None:
        """Count one answer, before it is given; refuse beyond the limit. The same answer again is not counted again.

        `digest` says which baseline it is: a number that was answered is answered for no other one, whatever the
        journal remembers. `ask` is what an update costs in this market now.
        """
        row = (stall.chain_id, stall.buyer.lower(), stall.market.lower(), epoch, baseline)
        with self._change():
            self._db.execute("INSERT OR REPLACE INTO asks VALUES (?, ?, ?, ?)", (*stall.place, stall.money, str(ask)))
            if (known := self._db.execute(KNOWN, row).fetchone()) is not None:
                if known[0] != digest:
                    raise MarketError(
                        f"baseline {baseline} of epoch {epoch} was answered, and it was another one: the count of "
                        "answers knows more than the journal, which may come from a copy"
                    )
                return
            if self.count(buyer=stall.buyer) >= limit:
                raise MarketError(
                    f"{limit} scores were given to {stall.buyer} since the last sale to it: no more before the next"
                )
            self._db.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)", (*row, digest))

    def sold(self, stall: Stall, *, epoch: int, price: int) -> None:
        """A sale to a buyer: once for each epoch, it forgives the answers that it pays for."""
        buyer = stall.buyer.lower()
        row = (stall.chain_id, buyer, stall.market.lower(), epoch)
        with self._change():
            if not self._db.execute("INSERT OR IGNORE INTO sales VALUES (?, ?, ?, ?)", row).rowcount:
                return
            for chain, market, token, ask in self._db.execute(OPEN, (buyer,)).fetchall():
                same_money = (chain, token) == (stall.chain_id, stall.money)
                if (chain, market) == stall.place or (same_money and int(ask) <= price):
                    where = "buyer = ? AND chain = ? AND market = ?"
                    self._db.execute(f"DELETE FROM answers WHERE {where}", (buyer, chain, market))

    def announce(self, stall: Stall, windows: Iterable[Window]) -> None:
        """When this market may want a transaction that cannot wait, so that other markets of the wallet make room."""
        rows = [(*stall.place, one.epoch, one.key, one.last) for one in windows]
        with self._change():
            self._db.execute("DELETE FROM ends WHERE chain = ? AND market = ?", stall.place)
            self._db.executemany("INSERT INTO ends VALUES (?, ?, ?, ?, ?)", rows)

    def announced(self, *, chain_id: int) -> list[Window]:
        """What all markets of the wallet on a chain have announced."""
        with self._turn:
            rows = self._db.execute("SELECT market, epoch, key, last FROM ends WHERE chain = ?", (chain_id,)).fetchall()
        return [Window(market=market, epoch=epoch, key=bool(key), last=last) for market, epoch, key, last in rows]

    def _bring_up_to_date(self) -> None:
        """A file of an older version knows no digests: what it counts is not answered again."""
        with self._change():
            columns = [row[1] for row in self._db.execute("PRAGMA table_info(answers)").fetchall()]
            if "digest" not in columns:
                self._db.execute("ALTER TABLE answers ADD COLUMN digest TEXT")

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
