"""SQLite files that one program at a time holds, and that are on disk when a write returns."""

import sqlite3
from pathlib import Path

from martfl.chain.network import ChainError


def open_exclusive(path: Path | None, schema: tuple[str, ...]) -> sqlite3.Connection:
    """Open or create a file and hold its lock until it is closed, or the program ends; None keeps it in memory."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    file = sqlite3.connect(path or ":memory:", timeout=0, check_same_thread=False)
    try:
        for statement in ("PRAGMA locking_mode = EXCLUSIVE", "PRAGMA synchronous = FULL", "BEGIN EXCLUSIVE"):
            file.execute(statement)
        for statement in schema:
            file.execute(statement)
        file.commit()
    except sqlite3.OperationalError as error:
        file.close()
        raise ChainError(f"{path} is in use by another program: {error}") from error
    except sqlite3.DatabaseError as error:
        file.close()
        raise ChainError(f"{path} is not a file of this program: {error}") from error
    return file
