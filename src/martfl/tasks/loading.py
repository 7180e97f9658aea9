"""Tasks and data by name. `module:function` names a function in the party's own environment.

A dataset is a folder with `x.npy` and `y.npy`; a CSV file whose last column is the target, or `file.csv#column`; a file
of texts (`.jsonl`, `.jsonl.gz`, `.txt`); or whatever the function of `module:function` returns.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from martfl.tasks.errors import TaskError
from martfl.tasks.protocol import Data
from martfl.tasks.sources import read_csv, read_folder
from martfl.tasks.texts import read_texts

TEXTS = (".jsonl", ".jsonl.gz", ".txt")


def load_entry(entry: str) -> Callable[..., Any]:
    """The function that `module:function` names."""
    module, _, name = entry.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise TaskError(f"{entry!r} must name a function as 'module:function': {error}") from error
    if not callable(found):
        raise TaskError(f"{entry!r} names a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


def load_data(source: str) -> Data:
    """The dataset that a text names."""
    path, _, column = source.partition("#")
    if Path(source).is_dir():
        return read_folder(Path(source))
    if path.endswith(".csv"):
        return read_csv(Path(path), target=column)
    if path.endswith(TEXTS):
        return read_texts(Path(path))
    if ":" in source:
        return load_entry(source)()
    raise TaskError(f"data must be a folder, a file (.csv, {', '.join(TEXTS)}) or 'module:function', got {source!r}")
