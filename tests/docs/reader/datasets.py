"""The paper's four datasets in their own file formats, at the size of a test: noise with a hint of the class."""

import csv
from pathlib import Path

import numpy as np

from martfl.lab.data.text import TREC_CLASSES

ROWS = {"train": 300, "test": 40}


def write_datasets(folder: Path) -> None:
    """`DATA` as the pages call it."""
    dice = np.random.default_rng(0)
    labels = {part: np.arange(rows) for part, rows in ROWS.items()}
    _write_trec(folder / "trec", labels, dice)
    _write_news(folder / "ag-news", labels, dice)
    _write_fashion(folder / "fashion-mnist", labels, dice)
    _write_cifar(folder / "cifar10", labels, dice)


def _sentence(label: int, dice: np.random.Generator) -> str:
    return " ".join([f"class{label}", *(f"word{i}" for i in dice.integers(30, size=6))])


def _write_trec(folder: Path, labels: dict[str, np.ndarray], dice: np.random.Generator) -> None:
    folder.mkdir(parents=True)
    for part, name in (("train", "train_5500.label"), ("test", "TREC_10.label")):
        lines = [f"{TREC_CLASSES[i % 6]}:x {_sentence(i % 6, dice)}" for i in labels[part]]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="latin-1")


def _write_news(folder: Path, labels: dict[str, np.ndarray], dice: np.random.Generator) -> None:
    folder.mkdir(parents=True)
    for part in labels:
        with (folder / f"{part}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([i % 4 + 1, "title", _sentence(i % 4, dice)] for i in labels[part])


def _write_fashion(folder: Path, labels: dict[str, np.ndarray], dice: np.random.Generator) -> None:
    folder.mkdir(parents=True)
    for part, prefix in (("train", "train"), ("test", "t10k")):
        classes = (labels[part] % 10).astype(np.uint8)
        images = _pictures(classes, (28, 28), dice)
        for name, values in (("images-idx3", images), ("labels-idx1", classes)):
            head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes()
            (folder / f"{prefix}-{name}-ubyte").write_bytes(head + values.tobytes())


def _write_cifar(folder: Path, labels: dict[str, np.ndarray], dice: np.random.Generator) -> None:
    folder.mkdir(parents=True)
    parts = [(f"data_batch_{i + 1}", labels["train"][i::5]) for i in range(5)]
    for name, part in (*parts, ("test_batch", labels["test"])):
        classes = (part % 10).astype(np.uint8)
        planes = _pictures(classes, (3, 32, 32), dice).reshape(len(part), -1)
        (folder / f"{name}.bin").write_bytes(np.column_stack([classes, planes]).tobytes())


def _pictures(classes: np.ndarray, shape: tuple[int, ...], dice: np.random.Generator) -> np.ndarray:
    return (dice.integers(0, 100, size=(len(classes), *shape)) + 15 * classes.reshape(-1, *[1] * len(shape))).astype(
        np.uint8
    )
