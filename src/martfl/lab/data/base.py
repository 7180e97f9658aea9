"""What a dataset is, and the paper's setting for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

Kind = Literal["image", "text", "features"]


@dataclass(frozen=True)
class Dataset:
    """Rows and labels in memory.

    Images are uint8 [rows, height, width, channels]; texts are int32 token numbers [rows, length] with 0 for padding;
    features are float32 [rows, columns].

    Examples:
        >>> from martfl.lab.data import load_dataset
        >>> digits = load_dataset('digits')
        >>> digits.kind, digits.num_classes, digits.train_x.shape[1:]
        ('features', 10, (64,))
    """

    name: str
    kind: Kind
    train_x: np.ndarray
    train_y: np.ndarray  # [rows] int64
    test_x: np.ndarray
    test_y: np.ndarray
    classes: tuple[str, ...]
    vocabulary: int = 0  # token numbers are below this; texts only
    mean: tuple[float, ...] = (0.0,)  # per channel, of pixel / 255; images only
    deviation: tuple[float, ...] = (1.0,)
    owners: tuple[str, ...] = ()  # whose rows they are, where somebody's they are
    train_owner: np.ndarray | None = None  # [rows] places in `owners`
    test_owner: np.ndarray | None = None

    @property
    def num_classes(self) -> int:
        return len(self.classes)


@dataclass(frozen=True)
class Preset:
    """The setting a dataset is evaluated in: paper, section 6.1 for the four datasets of the paper."""

    model: str
    participants: int
    root_rows: int
    optimizer: Literal["sgd", "adam"]
    learning_rate: float
    flip: tuple[int, int]  # the two classes that label flipping swaps; the backdoor's target is the second


@dataclass(frozen=True)
class Source:
    """A registered dataset: how to load it from a data folder, and its preset."""

    name: str
    load: Callable[[Path | None], Dataset]
    preset: Preset
