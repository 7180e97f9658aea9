"""Models leave as files that others open: safetensors by name, adapters as PEFT folders; whole or not at all."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from martfl.tasks.errors import TaskError
from martfl.tasks.layout import Layout, Vector
from martfl.tasks.protocol import Task, check_vector

WEIGHTS, ABOUT = "model.safetensors", "martfl.json"


def export_model(
    layout: Layout, model: Vector, folder: Path, *, about: Mapping[str, str], task: Task | None = None
) -> list[Path]:
    """Write a model into a folder that is not there yet, with what is known `about` it; the files.

    A task that has a form of its own (`export`) writes itself.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise TaskError(f"a model is written to a folder that is new or empty; {folder} is not")
    vector = check_vector(layout, model, what="the model")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as part:
        made = Path(part) / "model"
        made.mkdir()
        write = getattr(task, "export", None)
        if write is not None:
            write(vector, made)
        else:
            write_safetensors(layout, vector, made / WEIGHTS, about=about)
        known = {**about, "layout": layout.to_table(), "layout_hash": layout.hash}
        (made / ABOUT).write_text(json.dumps(known, indent=2), encoding="utf-8")
        if folder.exists():
            folder.rmdir()
        made.rename(folder)
    return sorted(folder.iterdir())


def write_safetensors(layout: Layout, model: Vector, path: Path, *, about: Mapping[str, str]) -> None:
    """Every tensor of the layout under its name, in float32."""
    from safetensors.numpy import save_file

    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in layout.split(model).items()}
    save_file(tensors, path, metadata={"format": "pt", **about})
