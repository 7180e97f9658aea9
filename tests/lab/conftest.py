"""Small datasets that need no files, and a short way to make a run."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from martfl.lab.attacks import Rows
from martfl.lab.config import RunConfig, make_config
from martfl.lab.data import Dataset, Preset, registry
from martfl.lab.trainer import Shards, make_shards


def _images() -> Dataset:
    rng = np.random.default_rng(1)
    y = np.arange(240) % 4
    x = rng.integers(0, 60, (240, 32, 32, 3)).astype(np.uint8)
    for row, label in enumerate(y):
        x[row, 8 * label : 8 * label + 8] += 150  # a bright band by class
    return Dataset(
        "tiny-images", "image", x[:180], y[:180], x[180:], y[180:], ("a", "b", "c", "d"), 0, (0.3,) * 3, (0.3,) * 3
    )


def _texts() -> Dataset:
    rng = np.random.default_rng(2)
    y = np.arange(200) % 3
    x = rng.integers(4, 40, (200, 9)).astype(np.int32)
    x[np.arange(200), rng.integers(0, 6, 200)] = y + 1
    x[::3, 6:] = 0  # padding
    return Dataset("tiny-texts", "text", x[:150], y[:150], x[150:], y[150:], ("a", "b", "c"), vocabulary=40)


@pytest.fixture(scope="session")
def images() -> Dataset:
    return _images()


@pytest.fixture(scope="session")
def texts() -> Dataset:
    return _texts()


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The two as datasets `tiny-images` and `tiny-texts`, for one test."""
    monkeypatch.setattr(registry, "_SOURCES", dict(registry._SOURCES))
    registry.register_dataset(
        name="tiny-images", load=lambda folder: _images(), preset=Preset("cnn", 4, 12, "sgd", 1e-2, (0, 1))
    )
    registry.register_dataset(
        name="tiny-texts", load=lambda folder: _texts(), preset=Preset("textcnn", 4, 12, "adam", 1e-3, (0, 1))
    )
    yield
    registry._load.cache_clear()


@pytest.fixture
def shards_of() -> Callable[[Dataset, list[int]], Shards]:
    """Cut a dataset into clients of the given sizes."""

    def cut(dataset: Dataset, sizes: list[int]) -> Shards:
        ends = np.cumsum(sizes)
        parts = [Rows(dataset.train_x[e - s : e], dataset.train_y[e - s : e]) for s, e in zip(sizes, ends, strict=True)]
        return make_shards(parts, torch.device("cpu"))

    return cut


@pytest.fixture
def small() -> Callable[..., RunConfig]:
    """A quick run on the digits, changed as asked."""

    def make(**changes: Any) -> RunConfig:
        return make_config({"rule": "fedavg", "participants": 6, "root_rows": 60, "rounds": 2, "epochs": 1, **changes})

    return make
