"""The largest resident memory of this process while it does one thing or another."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STATUS = Path("/proc/self/statm")
PAGE = 4096 / 2**20  # megabytes
PAUSE = 0.05  # seconds between looks


class MemoryWatch:
    """Looks at the memory again and again, and keeps the largest under the name of what is being done."""

    def __init__(self) -> None:
        self.peaks: dict[str, float] = {}  # megabytes; empty where the system does not tell
        self.doing = ""
        self._over = threading.Event()

    @contextmanager
    def watching(self, name: str) -> Iterator["MemoryWatch"]:
        """Watch while the block runs; it begins with `name`."""
        self.doing = name
        thread = threading.Thread(target=self._look, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            thread.join()

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        """Count what happens inside under another name."""
        before, self.doing = self.doing, name
        try:
            yield
        finally:
            self.doing = before

    def _look(self) -> None:
        while STATUS.exists():
            now = int(STATUS.read_text().split()[1]) * PAGE
            self.peaks[self.doing] = max(now, self.peaks.get(self.doing, 0.0))
            if self._over.wait(PAUSE):
                return
