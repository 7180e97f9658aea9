"""What is traded for: tasks. Any PyTorch module (`TorchTask`), adapters of language models (`lora_task`), own ones."""

from martfl.tasks.errors import LayoutError, TaskError
from martfl.tasks.judging import ClassProbability, NegativeLoss, RegressionError, TokenLikelihood
from martfl.tasks.layout import Layout, Part, Vector
from martfl.tasks.protocol import FourFunctions, Task, as_task
from martfl.tasks.sources import read_csv, read_folder
from martfl.tasks.torch_task import TorchTask

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
    "as_task",
    "read_csv",
    "read_folder",
]
