"""Datasets by name, and the one function that adds a dataset of the user's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np

from martfl.errors import InputError
from martfl.lab.data.base import Dataset, Preset, Source
from martfl.lab.data.digits import load_digits
from martfl.lab.data.files import data_folder
from martfl.lab.data.heart import load_heart
from martfl.lab.data.images import load_cifar10, load_fmnist
from martfl.lab.data.shakespeare import load_shakespeare
from martfl.lab.data.text import load_ag_news, load_trec

_SOURCES: dict[str, Source] = {}


def register_dataset(*, name: str, load: Callable[[Path | None], Dataset], preset: Preset) -> None:
    """Add a dataset: `load` gets the data folder (or None) and returns a `Dataset`; the preset says how it is run.

    Examples:
        >>> import dataclasses
        >>> own = lambda folder: dataclasses.replace(load_digits(folder), name='own digits')
        >>> register_dataset(name='own digits', load=own, preset=preset_of('digits'))
        >>> load_dataset('own digits').name
        'own digits'
    """
    if not name:
        raise InputError("a dataset needs a name, got an empty one")
    _SOURCES[name] = Source(name, load, preset)
    _load.cache_clear()


def dataset_names() -> list[str]:
    """The registered names in alphabetical order.

    Examples:
        >>> 'digits' in dataset_names()
        True
    """
    return sorted(_SOURCES)


def preset_of(name: str) -> Preset:
    """The setting that a dataset is evaluated in.

    Examples:
        >>> preset_of('fmnist').participants
        30
    """
    return source_of(name).preset


def load_dataset(name: str, *, folder: Path | None = None) -> Dataset:
    """Load and check a registered dataset; a second call gives the same arrays.

    Examples:
        >>> load_dataset('digits').num_classes
        10
    """
    source_of(name)
    return _load(name, data_folder(folder))


@functools.lru_cache(maxsize=4)
def _load(name: str, folder: Path | None) -> Dataset:
    dataset = source_of(name).load(folder)
    check_dataset(dataset)
    return dataset


def check_dataset(dataset: Dataset) -> None:
    """Refuse rows and labels that do not fit together."""
    for part, x, y in (("train", dataset.train_x, dataset.train_y), ("test", dataset.test_x, dataset.test_y)):
        if len(x) != len(y) or len(y) == 0:
            raise InputError(f"{dataset.name}: {part} needs one label a row, got {len(x)} rows and {len(y)} labels")
        if y.min() < 0 or y.max() >= dataset.num_classes:
            raise InputError(f"{dataset.name}: {part} labels must be 0 to {dataset.num_classes - 1}, got {y.max()}")
    if dataset.kind == "text" and int(dataset.train_x.max()) >= dataset.vocabulary:
        raise InputError(f"{dataset.name}: token {dataset.train_x.max()} is not below {dataset.vocabulary}")
    for part, owner, y in (
        ("train", dataset.train_owner, dataset.train_y), ("test", dataset.test_owner, dataset.test_y),
    ):  # fmt: skip
        if owner is not None and (len(owner) != len(y) or owner.min() < 0 or owner.max() >= len(dataset.owners)):
            raise InputError(f"{dataset.name}: {part} needs one of {len(dataset.owners)} owners a row")
    missing = set(range(dataset.num_classes)) - {int(label) for label in np.unique(dataset.train_y)}
    if missing:
        raise InputError(f"{dataset.name}: no training row has class {sorted(missing)}")


def source_of(name: str) -> Source:
    """How a dataset is loaded, and its preset; an unknown name lists the known ones.

    Examples:
        >>> source_of('digits').name
        'digits'
    """
    if name not in _SOURCES:
        raise InputError(f"unknown dataset {name!r}: choose one of {', '.join(dataset_names())}")
    return _SOURCES[name]


# The paper: 30 participants, SGD at 1e-2 for images; 20 participants, Adam at 5e-5 for texts; root rows as given there.
register_dataset(name="fmnist", load=load_fmnist, preset=Preset("lenet", 30, 200, "sgd", 1e-2, (7, 9)))
register_dataset(name="cifar10", load=load_cifar10, preset=Preset("cnn", 30, 200, "sgd", 1e-2, (1, 9)))
register_dataset(name="trec", load=load_trec, preset=Preset("textcnn", 20, 120, "adam", 5e-5, (0, 1)))
register_dataset(name="ag-news", load=load_ag_news, preset=Preset("textcnn", 20, 200, "adam", 5e-5, (0, 1)))
register_dataset(name="digits", load=load_digits, preset=Preset("mlp", 10, 100, "sgd", 2e-1, (7, 9)))
# Owners by nature: four hospitals, and roles of plays; the buyer's own rows are its root data, up to so many.
register_dataset(name="heart", load=load_heart, preset=Preset("mlp", 4, 400, "sgd", 5e-2, (0, 1)))
register_dataset(name="shakespeare", load=load_shakespeare, preset=Preset("char-lstm", 20, 200, "adam", 1e-3, (1, 2)))
