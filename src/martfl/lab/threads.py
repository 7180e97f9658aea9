"""How many threads torch computes with: a number of the process, borrowed for a while and given back."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_lock = threading.Lock()
_borrowed: list[int] = []  # the process's own number, once for each party that computes just now


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, then with as many as before.

    Small models gain nothing from more, and a market's parties share the machine. Several may do so at a time: each
    that is inside has set its own thread's number, so that the first to leave disturbs nobody.
    """
    with _lock:
        own = _borrowed[0] if _borrowed else torch.get_num_threads()
        _borrowed.append(own)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _borrowed.remove(own)
            torch.set_num_threads(own)
