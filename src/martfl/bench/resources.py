"""What this process takes while it does one thing or another: its largest memory, and seconds of the processor."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STATUS = Path("/proc/self/statm")
PAGE = 4096 / 2**20  # megabytes
PAUSE = 0.02  # seconds between looks


class ResourceWatch:
    """Looks again and again, and puts what it sees under the name of what is being done."""

    def __init__(self) -> None:
        self.peak_mb: dict[str, float] = {}  # empty where the system does not tell
        self.cpu_s: dict[str, float] = {}  # all threads
        self.doing = ""
        self._over = threading.Event()

    @contextmanager
    def watching(self, name: str) -> Iterator["ResourceWatch"]:
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
        spent, over = time.process_time(), False
        while not over:
            over = self._over.wait(PAUSE)
            name, now = self.doing, time.process_time()
            self.cpu_s[name] = self.cpu_s.get(name, 0.0) + now - spent
            spent = now
            if STATUS.exists():
                held = int(STATUS.read_text().split()[1]) * PAGE
                self.peak_mb[name] = max(held, self.peak_mb.get(name, 0.0))
