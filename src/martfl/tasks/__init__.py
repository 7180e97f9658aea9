"""What is traded for: tasks. Any PyTorch module (`TorchTask`), adapters of language models (`lora_task`), own ones.

What needs torch is imported when it is asked for: a layout can be read without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from martfl.tasks.errors import LayoutError, TaskError
from martfl.tasks.layout import Layout, Part, Vector
from martfl.tasks.protocol import FourFunctions, Task, as_task

if TYPE_CHECKING:
    from martfl.tasks.judging import ClassProbability, NegativeLoss, RegressionError, TokenLikelihood
    from martfl.tasks.sources import read_csv, read_folder
    from martfl.tasks.torch_task import TorchTask
    from martfl.tasks.words import Words

_WITH_TORCH = {
    "ClassProbability": "judging",
    "NegativeLoss": "judging",
    "RegressionError": "judging",
    "TokenLikelihood": "judging",
    "TorchTask": "torch_task",
    "Words": "words",
    "read_csv": "sources",
    "read_folder": "sources",
}

__all__ = [
    "ClassProbability",
    "FourFunctions",
    "Layout",
    "LayoutError",
    "NegativeLoss",
    "Part",
    "RegressionError",
    "Task",
    "TaskError",
    "TokenLikelihood",
    "TorchTask",
    "Vector",
    "Words",
    "as_task",
    "read_csv",
    "read_folder",
]


def __getattr__(name: str) -> Any:
    if name not in _WITH_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WITH_TORCH[name]}"), name)
