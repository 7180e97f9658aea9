"""Long work says how far it is; whoever listens tells people. Without a listener nothing is said.

waiting.tell("commitment generators", done, total)     # in the room that works
with waiting.heard(waiting.TimeLeft(say)): …           # in the program that people run
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Listener = Callable[[str, int, int], None]  # what is done, units done, units in all
_listeners: list[Listener] = []


def tell(what: str, done: int, total: int) -> None:
    """`done` of `total` units of this work are done."""
    for listener in _listeners:
        listener(what, done, total)


@contextmanager
def heard(listener: Listener) -> Iterator[None]:
    """Listen to all long work of this process, of its threads too."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def duration(seconds: float) -> str:
    """`40 s`, `3 min`, `2 h 10 min`: as exact as an estimate is."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


@dataclass
class TimeLeft:
    """Says how long a work still takes: seldom, and only if it takes long at all."""

    say: Callable[[str], None]
    every: float = 5.0  # seconds between two lines
    clock: Callable[[], float] = time.monotonic
    _begun: dict[str, tuple[float, int]] = field(default_factory=dict)  # when, and how much was done then
    _said: dict[str, float] = field(default_factory=dict)

    def __call__(self, what: str, done: int, total: int) -> None:
        now = self.clock()
        begun, first = self._begun.setdefault(what, (now, done))
        if done >= total:
            self._begun.pop(what)
            self._said.pop(what, None)
        elif done > first and now - self._said.setdefault(what, begun) >= self.every:
            self._said[what] = now
            left = (now - begun) * (total - done) / (done - first)
            self.say(f"{what}: {100 * done // total} % done, about {duration(left)} left")
