"""How long-running commands end."""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """A service manager's SIGTERM ends the program like Ctrl-C: children are stopped, files closed."""
    logging.getLogger("flwr").setLevel(logging.WARNING)

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
