"""Rows to train and judge on: a pair of arrays, a torch Dataset, a DataLoader; from a NumPy folder or a CSV file.

Every source gives batches of (inputs, target). Training takes them in an order drawn from a seed, judging always in the
source's own order, so that row i is row i for every model.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from martfl.arrays import Array
from martfl.tasks.errors import TaskError
from martfl.tasks.protocol import Data

Batch = tuple[Any, Tensor]  # inputs (a tensor, a tuple or a dictionary of them) and target, rows first
Pair = tuple[Array, Array]


class RowSource(Protocol):
    """Where rows come from."""

    @property
    def rows(self) -> int:
        """How many there are."""

    def shuffled(self, batch: int, seed: int) -> Iterator[Batch]:
        """All of them once, in an order drawn from the seed."""

    def ordered(self, batch: int) -> Iterator[Batch]:
        """All of them once, in their own order."""


@dataclass(frozen=True, eq=False)
class Arrays:
    """Inputs and targets in memory."""

    x: Tensor
    y: Tensor

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise TaskError(f"every row has one target: got {len(self.x)} rows and {len(self.y)} targets")

    @property
    def rows(self) -> int:
        """One target a row."""
        return len(self.y)

    def shuffled(self, batch: int, seed: int) -> Iterator[Batch]:
        """Drawn without replacement."""
        order = torch.from_numpy(np.random.default_rng(seed).permutation(self.rows))
        return ((self.x[part], self.y[part]) for part in torch.split(order, batch))

    def ordered(self, batch: int) -> Iterator[Batch]:
        """As they stand."""
        return zip(torch.split(self.x, batch), torch.split(self.y, batch), strict=True)


@dataclass(frozen=True, eq=False)
class Loaded:
    """The rows of a DataLoader. It trains as it was made: its batches, its sampler, its workers."""

    loader: "DataLoader[Any]"

    @property
    def rows(self) -> int:
        """As long as its dataset; a stream without a length cannot be judged row by row."""
        try:
            return len(self.loader.dataset)  # type: ignore[arg-type]
        except TypeError as error:
            raise TaskError("a DataLoader's dataset must have a length") from error

    def shuffled(self, batch: int, seed: int) -> Iterator[Batch]:
        """One pass; what it draws follows the seed."""
        if self.loader.generator is not None:
            self.loader.generator.manual_seed(seed)
        return map(_pair, self.loader)

    def ordered(self, batch: int) -> Iterator[Batch]:
        """Its dataset from the first row to the last, put together by the loader's own function."""
        size = self.loader.batch_size or batch
        plain = DataLoader(self.loader.dataset, batch_size=size, collate_fn=self.loader.collate_fn)
        return map(_pair, plain)


def as_source(data: Data, *, batch: int) -> RowSource:
    """Whatever rows came as."""
    if isinstance(data, DataLoader):
        return Loaded(data)
    if isinstance(data, Dataset):
        generator = torch.Generator()
        return Loaded(DataLoader(data, batch_size=batch, shuffle=True, generator=generator))
    if isinstance(data, (tuple, list)) and len(data) == 2:
        return Arrays(_tensor(data[0]), _tensor(data[1]))
    if all(hasattr(data, name) for name in ("rows", "shuffled", "ordered")):
        source: RowSource = data
        return source
    raise TaskError(f"data must be a pair of arrays, a Dataset or a DataLoader, got {type(data).__name__}")


def read_folder(folder: Path) -> Pair:
    """The rows of a folder with x.npy and y.npy."""
    files = [folder / "x.npy", folder / "y.npy"]
    if missing := [file.name for file in files if not file.is_file()]:
        raise TaskError(f"a data folder holds x.npy and y.npy; {folder} lacks {', '.join(missing)}")
    x, y = (_load(file) for file in files)
    if len(x) != len(y):
        raise TaskError(f"x.npy and y.npy in {folder} must have one row for each other: got {len(x)} and {len(y)}")
    return x, y


def read_csv(path: Path, *, target: str = "") -> Pair:
    """The rows of a CSV file with a header, all numbers. The target is the column named, or the last one.

    Targets that are all whole become classes (int64), others real values (float32).
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            header, *lines = [line for line in csv.reader(file) if line] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TaskError(f"{path} is not readable as CSV: {error}") from error
    if target and target not in header:
        raise TaskError(f"{path} has no column {target!r}; there are: {', '.join(header)}")
    table = _numbers(path, header, lines)  # [r, columns]
    column = header.index(target) if target else len(header) - 1
    y = table[:, column]
    whole = bool(np.all(y == np.round(y)))
    x = np.delete(table, column, axis=1).astype(np.float32)
    return x, y.astype(np.int64 if whole else np.float32)


def _numbers(path: Path, header: list[str], lines: list[list[str]]) -> NDArray[np.float64]:
    if len(header) < 2 or not lines:
        raise TaskError(f"{path} must have a header of two columns or more, and rows")
    table = np.empty((len(lines), len(header)))
    for row, line in enumerate(lines):
        if len(line) != len(header):
            raise TaskError(f"row {row + 1} of {path} has {len(line)} values, its header has {len(header)} columns")
        for column, text in enumerate(line):
            table[row, column] = _number(text, f"row {row + 1}, column {header[column]!r} of {path}")
    return table


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise TaskError(f"{where} must be a finite number, got {text!r}")
    return value


def _load(file: Path) -> Array:
    try:
        array: Array = np.load(file, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise TaskError(f"{file} is not a numpy array of numbers: {error}") from error
    return array


def _tensor(values: object) -> Tensor:
    found: Tensor = values if isinstance(values, Tensor) else torch.from_numpy(np.ascontiguousarray(values))
    return found.float() if found.dtype is torch.float64 else found


def _pair(batch: object) -> Batch:
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise TaskError(f"a DataLoader gives pairs of inputs and target, got {type(batch).__name__}")
    return batch[0], batch[1]
