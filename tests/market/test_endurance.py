"""Many providers, many epochs, one process: no epoch is lost, and nothing grows that should not."""

import gc
import logging
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from martfl.chain.state import Phase

log = logging.getLogger(__name__)
MB = 1 << 20


def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def left_over(market):
    """Bytes that the parties' journals keep beside the models and memories that stay."""
    size = "SELECT COALESCE(SUM(LENGTH(data)), 0) FROM blobs WHERE name <> 'state' AND name NOT LIKE 'model%'"
    total = 0
    for path in market.folder.glob("*/journal.sqlite"):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as journal:
            total += journal.execute(size).fetchone()[0]
    return total


def endure(build, kit, *, providers, epochs):
    """Bytes of memory, open files and threads after each epoch."""
    market = build(providers=providers, terms=kit.PLAIN, rows=20)
    found = []
    for epoch in range(1, epochs + 1):
        market.run(epoch)
        assert market.trading.read_epoch(epoch).phase is Phase.SETTLED
        market.watch()
        assert left_over(market) == 0
        found.append((resident(), open_files(), threading.active_count()))
    assert market.money_in(epochs) == market.money_out(epochs)
    assert market.chain.balance(market.trading.address) == 0
    return found


def check_flat(found, *, most):
    """Once warm, an epoch adds no files and no threads, and no more memory than its part of the chain."""
    warm, last, epochs = found[1], found[-1], len(found) - 2
    assert last[1] <= warm[1] and last[2] <= warm[2]  # those of an earlier test may go meanwhile
    assert (last[0] - warm[0]) / epochs < most


@pytest.mark.long
def test_twelve_providers_three_epochs(build, kit):
    check_flat(endure(build, kit, providers=12, epochs=3), most=12 * MB)


@pytest.mark.long
def test_fifty_providers_ten_epochs(build, kit):
    found = endure(build, kit, providers=50, epochs=10)
    log.info("megabytes: %s", [round(memory / MB) for memory, _, _ in found])
    check_flat(found, most=15 * MB)
