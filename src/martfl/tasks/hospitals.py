"""Heart disease in four hospitals: 920 patients, 13 features, and hospitals that differ as real ones do.

The data are those of the UCI Machine Learning Repository (`heart/NOTICE`), collected by Andras Janosi, M.D. (Budapest);
William Steinbrunn, M.D. (Zurich); Matthias Pfisterer, M.D. (Basel); Robert Detrano, M.D., Ph.D. (Long Beach and
Cleveland). The question is whether a patient's arteries are narrowed (diagnosis above 0).

A value that was not taken is 0 in its own column and 1 in a column that says so. Zero cholesterol and blood pressure
are not taken either. Scales are round numbers, not those of any hospital: everybody reads alike before anybody has met.
"""

from importlib import resources
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from martfl.arrays import Array
from martfl.tasks.errors import TaskError
from martfl.tasks.sources import Pair, read_csv
from martfl.tasks.torch_task import TorchTask

HOSPITALS = ("cleveland", "hungarian", "switzerland", "long-beach")
MISSING = -9.0
MEASURED = {  # name → usual value and spread
    "age": (54.0, 9.0),
    "blood_pressure": (130.0, 18.0),
    "cholesterol": (240.0, 50.0),
    "heart_rate": (140.0, 25.0),
    "st_depression": (1.0, 1.0),
    "vessels": (1.0, 1.0),
}
COUNTED = {  # name → the values that it can have
    "sex": (1,),
    "chest_pain": (1, 2, 3, 4),
    "blood_sugar": (1,),
    "ecg": (1, 2),
    "angina": (1,),
    "slope": (1, 2, 3),
    "thal": (3, 6, 7),
}
NEVER_ZERO = ("blood_pressure", "cholesterol", "thal")
COLUMNS = (
    *("age", "sex", "chest_pain", "blood_pressure", "cholesterol", "blood_sugar", "ecg"),
    *("heart_rate", "angina", "st_depression", "slope", "vessels", "thal"),
)
INPUTS = 2 * len(MEASURED) + sum(len(values) + 1 for values in COUNTED.values())


def load_hospital(name: str, *, folder: Path | None = None) -> Pair:
    """A hospital's patients, as the task reads them [r, inputs], and whether they are ill [r]."""
    if name not in HOSPITALS:
        raise TaskError(f"hospitals are {', '.join(HOSPITALS)}, got {name!r}")
    with resources.as_file(resources.files("martfl.tasks") / "heart") as shipped:
        raw, diagnosis = read_csv((folder or shipped) / f"{name}.csv")
    return encode(raw), (diagnosis > 0).astype(np.int64)


def encode(raw: NDArray[np.float32]) -> NDArray[np.float32]:
    """The 13 columns as inputs of a network [r, inputs]."""
    if raw.ndim != 2 or raw.shape[1] != len(COLUMNS):
        raise TaskError(f"a patient has {len(COLUMNS)} values ({', '.join(COLUMNS)}), got the shape {raw.shape}")
    parts: list[Array] = []
    for name in (*MEASURED, *COUNTED):
        values = raw[:, COLUMNS.index(name)]
        gone = (values == MISSING) | ((values == 0) & (name in NEVER_ZERO))
        if name in MEASURED:
            usual, spread = MEASURED[name]
            parts.append(np.where(gone, 0.0, np.clip((values - usual) / spread, -4, 4)))
        else:
            parts += [values == option for option in COUNTED[name]]
        parts.append(gone)
    return np.stack(parts, axis=1).astype(np.float32)


def make_network() -> nn.Module:
    """A small network of one hidden layer."""
    return nn.Sequential(nn.Linear(INPUTS, 16), nn.ReLU(), nn.Linear(16, 2))


def heart(*, epochs: int = 4, batch: int = 16, learning_rate: float = 0.05, seed: int = 0) -> TorchTask:
    """Is a patient ill? `martfl.tasks.hospitals:heart` in `market.toml`."""

    def optimizer(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, lr=learning_rate, momentum=0.9, weight_decay=1e-3)

    return TorchTask(make_network, optimizer=optimizer, epochs=epochs, batch=batch, seed=seed)


def cleveland() -> Pair:
    """For `--data martfl.tasks.hospitals:cleveland`."""
    return load_hospital("cleveland")


def hungarian() -> Pair:
    """For `--data martfl.tasks.hospitals:hungarian`."""
    return load_hospital("hungarian")


def switzerland() -> Pair:
    """For `--data martfl.tasks.hospitals:switzerland`."""
    return load_hospital("switzerland")


def long_beach() -> Pair:
    """For `--data martfl.tasks.hospitals:long_beach`."""
    return load_hospital("long-beach")
