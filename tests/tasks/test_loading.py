"""Tasks and data by name."""

import json
from pathlib import Path

import numpy as np
import pytest

from martfl.tasks import TaskError
from martfl.tasks.loading import load_data, load_entry


def test_entries() -> None:
    assert load_entry("math:sqrt")(9) == 3
    for entry in ("math", "math:nothing", "no_such_module:f", ":f", "math:", "math:pi"):
        with pytest.raises(TaskError, match="function"):
            load_entry(entry)


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"lacks x\.npy, y\.npy"):
        load_data(str(tmp_path))
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    np.save(tmp_path / "y.npy", np.arange(3))
    x, y = load_data(str(tmp_path))
    assert x.shape == (3, 2)
    assert y.tolist() == [0, 1, 2]
    np.save(tmp_path / "y.npy", np.arange(2))
    with pytest.raises(TaskError, match="got 3 and 2"):
        load_data(str(tmp_path))
    np.save(tmp_path / "x.npy", np.array([{"a": 1}]), allow_pickle=True)
    with pytest.raises(TaskError, match=r"x\.npy"):
        load_data(str(tmp_path))


def test_files_and_functions(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("kind,length\n1,0.5\n0,1.5\n", encoding="utf-8")
    x, y = load_data(str(tmp_path / "a.csv"))
    assert (x.tolist(), y.tolist()) == ([[1], [0]], [0.5, 1.5])
    x, y = load_data(f"{tmp_path / 'a.csv'}#kind")
    assert (x.tolist(), y.tolist(), y.dtype) == ([[0.5], [1.5]], [1, 0], np.int64)
    with pytest.raises(TaskError, match="no column 'weight'; there are: kind, length"):
        load_data(f"{tmp_path / 'a.csv'}#weight")
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "To be"}), encoding="utf-8")
    assert load_data(str(tmp_path / "a.jsonl")) == ["To be"]
    assert load_data("builtins:list") == []
    with pytest.raises(TaskError, match="data must be a folder"):
        load_data("nowhere")
