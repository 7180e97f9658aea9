"""This machine: Python, libraries, disk."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from martfl.doctor import Finding, weigh
from martfl.extras import missing, remedy

OLDEST = (3, 11)
ROOM = 2 * 1024**3  # bytes: generators of a model of some millions of parameters, journals, Flower's logs
ROLES = {"provider": "sell", "acquirer": "watch the live page", "lab": "run the bundled tasks and experiments"}


def machine(*, folder: Path, cache: Path) -> Iterator[Finding]:
    """Everything that can be seen without a network."""
    version = ".".join(map(str, sys.version_info[:3]))
    newer = "install Python 3.11 or newer and make the environment anew"
    yield weigh(sys.version_info >= OLDEST, "Python", version, newer)
    for role, use in ROLES.items():
        absent = missing(role)
        found = f"not installed: {', '.join(absent)}" if absent else "installed"
        bring = f"to {use}: {remedy(role)}"
        yield weigh(not absent, f"libraries, {role}", found, bring, otherwise="warn")
    for what, place in (("home", folder), ("cache", cache)):
        yield _disk(f"disk, {what}", place)


def _disk(what: str, place: Path) -> Finding:
    existing = next(parent for parent in (place, *place.parents) if parent.exists())
    if not os.access(existing, os.W_OK):
        remedy = (
            f"give this user the right to write to {existing}, or name another folder (MARTFL_WALLETS, MARTFL_CACHE)"
        )
        return Finding(what, "fail", f"{existing} is not writable", remedy)
    free = shutil.disk_usage(existing).free
    found = f"{free / 1024**3:.1f} GiB free at {existing}"
    return weigh(free >= ROOM, what, found, "make room: 2 GiB, and more for large models", otherwise="warn")
