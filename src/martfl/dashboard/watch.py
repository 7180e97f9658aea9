"""Follow a market from outside: notice that its journal or chain moved on, and read the story again."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from web3.exceptions import Web3Exception

from martfl.dashboard.ledger import Ledger, LedgerReader
from martfl.dashboard.reading import journal_folder, read_story
from martfl.dashboard.story import Alarm, Story
from martfl.errors import InputError, MartflError
from martfl.market.journal import NAME

log = logging.getLogger(__name__)
STILL_WAITING = Story(name="waiting for the market", parties={}, epochs=())


@dataclass
class Watcher:
    """One market's latest story. May be asked by many threads; the journal is read once per change.

    The chain is looked at in a thread of its own: a node that does not answer keeps nobody waiting.
    """

    folder: Path
    open_chain: Callable[[], LedgerReader] | None = None  # raises `InputError` while the market has no contract
    chain_pause: float = 5.0  # seconds between two looks at the chain
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _version: str = ""
    _story: Story = STILL_WAITING
    _reader: LedgerReader | None = None
    _ledger: Ledger | None = None
    _chain_error: str = ""
    _next_look: float = 0.0

    def version(self) -> str:
        """Changes when there is something new to show."""
        self._look_at_chain()
        seen = self._ledger.node if self._ledger else None
        return f"{self._stamp()}/{hash((str(seen), self._chain_error)):x}"

    def story(self) -> Story:
        """The story of the present version; the one before it while the journal cannot be read."""
        version = self.version()
        with self._lock:
            if version != self._version:
                try:
                    self._story, self._version = self._read(), version
                except InputError:  # not there yet
                    log.debug("no journal in %s yet", self.folder)
                except MartflError as error:
                    log.warning("the journal could not be read: %s", error)
            return self._story

    def _read(self) -> Story:
        story = read_story(self.folder, ledger=self._ledger)
        if not self._chain_error:
            return story
        number = story.epochs[-1].number if story.epochs else 0
        last = f"; shown is block {self._ledger.node.block:,}, as last seen" if self._ledger else ""
        alarm = Alarm(epoch=number, kind="chain unreachable", text=f"{self._chain_error}{last}")
        return replace(story, alarms=(alarm, *story.alarms))

    def _stamp(self) -> str:
        try:
            place = journal_folder(self.folder)
        except InputError:
            return "none"
        found = [path.stat() for path in (place / NAME, place / f"{NAME}-wal") if path.exists()]
        return "-".join(f"{stat.st_mtime_ns:x}.{stat.st_size:x}" for stat in found)

    def _look_at_chain(self) -> None:
        with self._lock:
            if self.open_chain is None or time.monotonic() < self._next_look:
                return
            self._next_look = float("inf")  # one look at a time
        threading.Thread(target=self._read_chain, daemon=True).start()

    def _read_chain(self) -> None:
        try:
            self._reader = self._reader or (self.open_chain() if self.open_chain else None)
            if self._reader:
                self._ledger, self._chain_error = self._reader.read(), ""
        except InputError as error:  # not there yet
            log.debug("no chain yet: %s", error)
        except (MartflError, Web3Exception, OSError) as error:
            log.info("the chain could not be read: %s", error)
            self._chain_error = f"the chain cannot be read: {error}"
        finally:
            self._next_look = time.monotonic() + self.chain_pause
