"""Where martfl keeps what it can make again."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`MARTFL_CACHE`, or martfl's folder in the user's cache folder."""
    if named := os.environ.get("MARTFL_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "martfl"
