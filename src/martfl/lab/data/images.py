"""Fashion-MNIST (IDX files) and CIFAR-10 (binary batches)."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from martfl.lab.data.base import Dataset
from martfl.lab.data.files import DataError, find

FMNIST_CLASSES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
CIFAR_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
FMNIST_HINT = (
    "Put the four official files train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
    "t10k-labels-idx1-ubyte (plain or .gz) into fashion-mnist/ of the data folder."
)
CIFAR_HINT = (
    "Put the official binary version, data_batch_1.bin to data_batch_5.bin and test_batch.bin, "
    "into cifar10/ of the data folder."
)
CIFAR_RECORD = 1 + 3 * 32 * 32  # a label byte, then red, green and blue planes


def _content(path: Path) -> bytes:
    raw = path.read_bytes()
    return gzip.decompress(raw) if path.suffix == ".gz" else raw


def read_idx(path: Path) -> np.ndarray:
    """An IDX file of unsigned bytes: two zero bytes, type 8, the number of dimensions, their sizes, the values."""
    raw = _content(path)
    if len(raw) < 4 or raw[:3] != b"\x00\x00\x08":
        raise DataError(f"{path} is not an IDX file of unsigned bytes: it begins with {raw[:4].hex()}")
    shape = np.frombuffer(raw, dtype=">u4", count=raw[3], offset=4)
    values = np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * raw[3])
    if values.size != int(np.prod(shape)):
        raise DataError(f"{path} promises {tuple(int(s) for s in shape)} values and holds {values.size}")
    return values.reshape(shape.astype(np.int64))


def load_fmnist(folder: Path | None) -> Dataset:
    """Fashion-MNIST: 60,000 and 10,000 grey images of 28 × 28."""

    def part(name: str) -> np.ndarray:
        return read_idx(find(folder, dataset="fmnist", subfolder="fashion-mnist", name=name, hint=FMNIST_HINT))

    return Dataset(
        name="fmnist",
        kind="image",
        train_x=part("train-images-idx3-ubyte")[..., None],  # [60000, 28, 28, 1]
        train_y=part("train-labels-idx1-ubyte").astype(np.int64),
        test_x=part("t10k-images-idx3-ubyte")[..., None],
        test_y=part("t10k-labels-idx1-ubyte").astype(np.int64),
        classes=FMNIST_CLASSES,
        mean=(0.2860,),
        deviation=(0.3530,),
    )


def read_cifar(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """One binary batch as (images [rows, 32, 32, 3], labels [rows])."""
    raw = np.frombuffer(_content(path), dtype=np.uint8)
    if raw.size == 0 or raw.size % CIFAR_RECORD:
        raise DataError(f"{path} must hold records of {CIFAR_RECORD} bytes, got {raw.size} bytes")
    records = raw.reshape(-1, CIFAR_RECORD)
    if records[:, 0].max() > 9:
        raise DataError(f"{path} has label {records[:, 0].max()}; CIFAR-10 labels are 0 to 9")
    planes = records[:, 1:].reshape(-1, 3, 32, 32)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), records[:, 0].astype(np.int64)


def load_cifar10(folder: Path | None) -> Dataset:
    """CIFAR-10: 50,000 and 10,000 colour images of 32 × 32."""

    def part(name: str) -> tuple[np.ndarray, np.ndarray]:
        return read_cifar(find(folder, dataset="cifar10", subfolder="cifar10", name=name, hint=CIFAR_HINT))

    batches = [part(f"data_batch_{number}.bin") for number in range(1, 6)]
    test_x, test_y = part("test_batch.bin")
    return Dataset(
        name="cifar10",
        kind="image",
        train_x=np.concatenate([x for x, _ in batches]),
        train_y=np.concatenate([y for _, y in batches]),
        test_x=test_x,
        test_y=test_y,
        classes=CIFAR_CLASSES,
        mean=(0.4914, 0.4822, 0.4465),
        deviation=(0.2470, 0.2435, 0.2616),
    )
