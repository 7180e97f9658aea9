"""What is traded for: a model, how to train it, how to judge it. Organisations plug in their own.

`module:function` names a function in the party's own environment. A task's function returns a `Task`; a dataset's
function returns whatever that task trains on. A folder with `x.npy` and `y.npy` is a dataset too.

The terms name the task, and terms come from strangers: a module is not even imported unless it is built in, or whoever
joins has allowed it by name.
"""

import importlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from martfl.market.errors import MarketError

Floats = NDArray[np.float64]
PARTS = ("initial", "train", "logits", "labels")  # of a task


class Task(Protocol):
    """A learning task over flat parameter vectors."""

    def initial(self) -> Floats:
        """The first global model [m]; the same for everybody."""

    def train(self, model: Floats, data: Any, *, seed: int) -> Floats:
        """The update [m] that training `model` on `data` gives."""

    def logits(self, model: Floats, data: Any) -> Floats:
        """How strongly the model believes in each class, for every row of `data` [r, classes]."""

    def labels(self, data: Any) -> NDArray[np.int64]:
        """The true class of every row of `data`."""


BUILT_IN = ("martfl.lab.task", "martfl.tasks")  # and whatever is below them


def load_task(entry: str, options: Mapping[str, Any], *, allowed: Collection[str] = ()) -> Task:
    """The task that terms name: a built-in one, or of a module that is allowed."""
    module = entry.partition(":")[0]
    if not (_is_built_in(module) or module in allowed):
        raise MarketError(
            f"the task {entry!r} is code of the module {module!r}, which must be allowed before it runs here: read it, "
            f"then say --allow-task {module}"
        )
    make = load_entry(entry)
    if module not in allowed and not _is_built_in(str(getattr(make, "__module__", ""))):
        raise MarketError(f"{entry!r} must name a task that {module!r} makes, not something that it uses")
    try:
        task = make(**options)
    except TypeError as error:
        raise MarketError(f"the task {entry!r} does not take these options: {error}") from error
    if missing := [name for name in PARTS if not callable(getattr(task, name, None))]:
        raise MarketError(f"{entry!r} must make a task, its {type(task).__name__} has no {missing[0]!r}")
    return task  # type: ignore[no-any-return]


def _is_built_in(module: str) -> bool:
    return any(module == known or module.startswith(f"{known}.") for known in BUILT_IN)


def load_entry(entry: str) -> Callable[..., Any]:
    """The function that `module:function` names."""
    module, _, name = entry.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise MarketError(f"{entry!r} must name a function as 'module:function': {error}") from error
    if not callable(found):
        raise MarketError(f"{entry!r} names a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


def load_data(source: str) -> Any:
    """A dataset from a folder with x.npy and y.npy, or from `module:function`."""
    folder = Path(source)
    if folder.is_dir():
        files = [folder / "x.npy", folder / "y.npy"]
        if missing := [file.name for file in files if not file.is_file()]:
            raise MarketError(f"a data folder holds x.npy and y.npy; {folder} lacks {', '.join(missing)}")
        return tuple(_load(file) for file in files)
    if ":" in source:
        return load_entry(source)()
    raise MarketError(f"data must be a folder or 'module:function', got {source!r}")


def _load(file: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(file, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise MarketError(f"{file} is not a numpy array of numbers: {error}") from error
    return array
