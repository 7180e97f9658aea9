"""Models by name: each is built for a dataset's rows and classes."""

from collections.abc import Callable

from martfl.errors import InputError
from martfl.lab.data.base import Dataset
from martfl.lab.models.base import Model
from martfl.lab.models.images import cnn, lenet
from martfl.lab.models.mlp import mlp
from martfl.lab.models.recurrent import char_lstm
from martfl.lab.models.textcnn import textcnn

MODELS: dict[str, Callable[[Dataset], Model]] = {
    "lenet": lenet,
    "cnn": cnn,
    "textcnn": textcnn,
    "char-lstm": char_lstm,
    "mlp": mlp,
}

__all__ = ["MODELS", "Model", "make_model"]


def make_model(name: str, dataset: Dataset) -> Model:
    """The model of that name for a dataset."""
    if name not in MODELS:
        raise InputError(f"unknown model {name!r}: choose one of {', '.join(sorted(MODELS))}")
    return MODELS[name](dataset)
