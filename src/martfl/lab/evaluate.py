"""Predictions of one model, or of many, over rows on the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from martfl.lab.models import Model

FLOATS = 2**28  # activations kept at once
CPU_ROWS = 500


@dataclass(frozen=True)
class Rowset:
    """Rows on the device with their labels on both sides."""

    x: Tensor
    y: Tensor  # [r] int64
    labels: np.ndarray  # [r] the same on the host


def make_rowset(x: np.ndarray, y: np.ndarray, device: torch.device) -> Rowset:
    """Copy rows to the device; token numbers become int64."""
    rows = torch.from_numpy(np.array(x))
    rows = rows.long() if rows.dtype == torch.int32 else rows
    labels = np.asarray(y, dtype=np.int64)
    return Rowset(rows.to(device), torch.from_numpy(labels.copy()).to(device), labels)


@torch.no_grad()
def scores_one(model: Model, flat: Tensor, x: Tensor) -> np.ndarray:
    """[m] -> [r, c] logits, on the host."""
    params = model.split(flat)
    rows = CPU_ROWS if x.device.type == "cpu" else max(1, FLOATS // model.activation_floats)
    parts = [model.one(params, x[begin : begin + rows]) for begin in range(0, len(x), rows)]
    return np.asarray(torch.cat(parts).float().cpu().numpy())


def predict_one(model: Model, flat: Tensor, x: Tensor) -> np.ndarray:
    """[m] -> [r] predicted classes, on the host."""
    return np.asarray(scores_one(model, flat, x).argmax(axis=1))


def logits_many(model: Model, models: Tensor, x: Tensor) -> Tensor:
    """[k, m] -> [k, r, c]: every model over the same rows; can be differentiated by the models."""
    if x.device.type == "cpu":
        return torch.stack([model.one(model.split(flat), x) for flat in models])
    params = model.split(models)
    rows = max(1, FLOATS // (model.activation_floats * len(models)))
    shape = (len(models), -1, *[-1] * (x.dim() - 1))
    parts = [model.many(params, x[begin : begin + rows].expand(*shape)) for begin in range(0, len(x), rows)]
    return torch.cat(parts, dim=1)


@dataclass(frozen=True)
class RowJudge:
    """Judges models on a fixed set of rows; the buyer's judge holds its root rows."""

    model: Model
    rows: Rowset
    num_classes: int

    @property
    def labels(self) -> Tensor:
        return self.rows.y

    def logits(self, models: Tensor) -> Tensor:
        return logits_many(self.model, models, self.rows.x)

    def predict(self, models: Tensor) -> Tensor:
        return self.logits(models).argmax(dim=2)
