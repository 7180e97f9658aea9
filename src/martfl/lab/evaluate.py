"""Predictions of one model, or of many, over rows on the device."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from martfl.lab.models import Model
from martfl.lab.models.base import Inputs, Shape
from martfl.lab.models.words import answers_to_words, draw_texts, words_held

FLOATS = 2**30  # activations kept at once
CPU_ROWS = 500


@dataclass(frozen=True)
class Rowset:
    """Rows on the device with their labels on both sides, for models of one architecture."""

    model: Model
    x: Tensor
    y: Tensor  # [r] int64
    labels: np.ndarray  # [r] the same on the host

    @cached_property
    def laid(self) -> Inputs:
        """Laid out for one model, once."""
        return self.model.lay_out(self.x.unsqueeze(0))

    def scores(self, flat: Tensor) -> np.ndarray:
        """[m] -> [r, c] logits, on the host."""
        if self.model.table and self.x.is_cuda:
            return np.asarray(self.logits(flat.unsqueeze(0))[0].float().cpu().numpy())
        return scores_one(self.model, flat, self.x)

    def predict(self, flat: Tensor) -> np.ndarray:
        """[m] -> [r] predicted classes, on the host."""
        return np.asarray(self.scores(flat).argmax(axis=1))

    def logits(self, models: Tensor) -> Tensor:
        """[k, m] -> [k, r, c]: every model over the same rows; can be differentiated by the models."""
        if not self.model.table:
            return logits_many(self.model, models, self.x)
        if not self.x.is_cuda:
            return torch.cat([self.model.stacked(self.model.split(flat[None]), self.laid) for flat in models])
        return self.model.stacked(self.model.split(models), _shared(self.laid, len(models)))


def make_rowset(model: Model, x: np.ndarray, y: np.ndarray, device: torch.device) -> Rowset:
    """Copy rows to the device; token numbers become int64."""
    rows = torch.from_numpy(np.array(x))
    rows = rows.long() if rows.dtype == torch.int32 else rows
    labels = np.asarray(y, dtype=np.int64)
    return Rowset(model, rows.to(device), torch.from_numpy(labels.copy()).to(device), labels)


@torch.no_grad()
def scores_one(model: Model, flat: Tensor, x: Tensor) -> np.ndarray:
    """[m] -> [r, c] logits, on the host."""
    params = model.split(flat)
    rows = CPU_ROWS if x.device.type == "cpu" else max(1, FLOATS // model.activation_floats)
    parts = [model.one(params, x[begin : begin + rows]) for begin in range(0, len(x), rows)]
    return np.asarray(torch.cat(parts).float().cpu().numpy())


def logits_many(model: Model, models: Tensor, x: Tensor) -> Tensor:
    """[k, m] -> [k, r, c]: every model over the same rows; can be differentiated by the models."""
    if x.device.type == "cpu":
        return torch.stack([model.one(model.split(flat), x) for flat in models])
    params = model.split(models)
    rows = max(1, FLOATS // (model.activation_floats * len(models)))
    chunks = [model.lay_out(x[at : at + rows].unsqueeze(0)) for at in range(0, len(x), rows)]
    return torch.cat([model.stacked(params, _shared(laid, len(models))) for laid in chunks], dim=1)


def _shared(laid: Inputs, models: int) -> Inputs:
    """The same rows for all models."""
    return tuple(part.expand(models, *part.shape[1:]) for part in laid)


@dataclass(frozen=True)
class RowJudge:
    """Judges models on a fixed set of rows; the buyer's judge holds its root rows."""

    rows: Rowset
    num_classes: int

    @property
    def labels(self) -> Tensor:
        return self.rows.y

    def logits(self, models: Tensor) -> Tensor:
        return self.rows.logits(models)

    def predict(self, models: Tensor) -> Tensor:
        return self.logits(models).argmax(dim=2)

    def by_word(self, models: Iterable[Tensor], seed: int) -> Iterator[Tensor]:
        """[w, texts, c] what each model answers to every word, in texts that are drawn from the rows."""
        texts = draw_texts(self.rows.x, seed)
        for model in models:
            yield answers_to_words(self.rows.model, model, texts)

    def held_words(self) -> np.ndarray | None:
        """[w] which words the rows hold; None where the model reads no words."""
        return words_held(self.rows.model, self.rows.x)

    @cached_property
    def narrow(self) -> Narrow | None:
        """Only the words that the rows hold; None where a model has no table of words, or its device is fast enough."""
        if not self.rows.model.table or self.rows.x.is_cuda:
            return None
        words = torch.unique(torch.cat([self.rows.x.new_zeros(1), self.rows.x.flatten()]))  # 0 pads, and stays 0
        table, *rest = self.rows.model.weights
        model = replace(self.rows.model, weights=(replace(table, shape=(len(words), table.shape[1])), *rest))
        rows = replace(self.rows, model=model, x=torch.searchsorted(words, self.rows.x))
        return Narrow(RowJudge(rows, self.num_classes), words, table.shape)


@dataclass(frozen=True)
class Narrow:
    """A judge of models without the rows of their table that no row of its own looks up."""

    judge: RowJudge
    words: Tensor  # [u]
    table: Shape

    def take(self, flat: Tensor) -> Tensor:
        """What is left of a model or an update."""
        table, rest = torch.split(flat, [math.prod(self.table), len(flat) - math.prod(self.table)])
        return torch.cat([table.view(self.table)[self.words].flatten(), rest])
