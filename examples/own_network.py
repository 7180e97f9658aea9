"""A network of your own in a market: how diabetes goes on in a year, from ten numbers of a patient.

    python examples/own_network.py

The first function is your network, the second the task: these ten lines are all that a market needs of you. Below them,
three clinics hold their rows as a DataLoader, a folder of NumPy arrays and a CSV file; a fourth has its targets wrong.
"""

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from martfl.demo import simulate
from martfl.tasks import TorchTask, read_csv, read_folder

# --- the ten lines -----------------------------------------------------------------------------------------------


def make_network() -> nn.Module:
    return nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))


def make_task() -> TorchTask:
    def optimizer(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.Adam(parameters, lr=0.01)

    return TorchTask(make_network, loss=nn.MSELoss(), optimizer=optimizer, epochs=3, batch=16)


# --- the rows ----------------------------------------------------------------------------------------------------


def load_parts() -> list[tuple[np.ndarray, np.ndarray]]:
    """Six parts of 442 patients: the buyer's, those to test on, four clinics'."""
    x, y = load_diabetes(return_X_y=True, scaled=False)
    x, y = ((x - x.mean(0)) / x.std(0)).astype(np.float32), ((y - 150.0) / 75.0).astype(np.float32)
    return [(x[part], y[part]) for part in np.array_split(np.random.default_rng(0).permutation(len(y)), 6)]


def as_loader(x: np.ndarray, y: np.ndarray) -> DataLoader:
    rows = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    return DataLoader(rows, batch_size=16, shuffle=True, generator=torch.Generator())


def as_folder(x: np.ndarray, y: np.ndarray, folder: Path) -> Path:
    folder.mkdir()
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)
    return folder


def as_csv(x: np.ndarray, y: np.ndarray, path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*(f"x{i}" for i in range(10)), "y"], *np.column_stack([x, y]).tolist()])
    return path


def main(folder: Path) -> None:
    """Trade for four epochs, and print what came of it."""
    root, test, first, second, third, fourth = load_parts()
    sellers = {
        "Ash": as_loader(*first),
        "Beech": read_folder(as_folder(*second, folder / "rows")),
        "Cherry": read_csv(as_csv(*third, folder / "rows.csv")),
        "Doubtful": (fourth[0], -fourth[1]),
    }
    result = simulate(make_task, root=root, test=test, sellers=sellers, epochs=4, folder=folder / "market")
    print(f"start    R² {result.mta_start:+.2f}")
    for epoch in result.epochs:
        kept = ", ".join(name for name, weight in epoch.weights.items() if weight >= 0.05)
        print(f"epoch {epoch.epoch}  R² {epoch.mta:+.2f}  in the model: {kept}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="martfl-")))
