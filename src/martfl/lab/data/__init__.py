"""Datasets: the paper's four from a data folder, bundled digits, and the user's own by `register_dataset`."""

from martfl.lab.data.base import Dataset, Preset
from martfl.lab.data.files import DataError
from martfl.lab.data.registry import dataset_names, load_dataset, preset_of, register_dataset, source_of

__all__ = [
    "DataError",
    "Dataset",
    "Preset",
    "dataset_names",
    "load_dataset",
    "preset_of",
    "register_dataset",
    "source_of",
]
