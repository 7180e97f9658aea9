"""Finding dataset files; a missing one says what to put where."""

from __future__ import annotations

import os
from pathlib import Path

from martfl.errors import InputError

VARIABLE = "MARTFL_DATA"


class DataError(InputError):
    """A dataset file is missing or malformed."""


def data_folder(given: Path | None) -> Path | None:
    """The folder given, else the one that MARTFL_DATA names, else none."""
    if given is not None:
        return given
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def find(folder: Path | None, *, dataset: str, subfolder: str, name: str, hint: str) -> Path:
    """The path of one file, with or without `.gz`."""
    if folder is None:
        raise DataError(f"dataset {dataset} needs files: name their folder with --data or {VARIABLE}. {hint}")
    for candidate in (folder / subfolder / name, folder / subfolder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise DataError(f"dataset {dataset}: no file {folder / subfolder / name} (or .gz). {hint}")
