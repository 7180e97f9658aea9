"""Many adapters of one base in one pass: the rows of each go through the base together with the rows of the others.

    y_s = W·x_s + (α/r)·B_s·A·x_s        for the rows x_s of adapter s

A small model on a GPU waits for launches more than it computes, so thirteen sellers take little longer than one.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from martfl.tasks.judging import IGNORED
from martfl.tasks.sources import Batch

ADAPTER = "default"
Factors = Mapping[str, Tensor]  # B of every adapter [s, outputs, rank], by the name that PEFT stores it under


@contextlib.contextmanager
def side_by_side(module: nn.Module, factors: Factors) -> Iterator[None]:
    """The module takes rows [s·b, …]: b of the first adapter, b of the second, and so on."""
    layers = {name: layer for name, layer in module.named_modules() if hasattr(layer, "lora_B")}
    added = {name: factors[f"{name}.lora_B.weight"] for name in layers}
    for name, layer in layers.items():
        layer.forward = partial(_forward, layer, added[name])  # hides the class's own
    try:
        yield
    finally:
        for layer in layers.values():
            del layer.forward


def stacked(batches: Sequence[Batch], *, filler: int) -> Batch:
    """Batches of tokens as one [s·b, t]; shorter ones are filled up with rows that do not count."""
    rows = max(len(target) for _, target in batches)
    inputs = torch.stack([_filled(ids, rows, filler) for ids, _ in batches])  # [s, b, t]
    targets = torch.stack([_filled(target, rows, IGNORED) for _, target in batches])
    return inputs.flatten(0, 1), targets.flatten(0, 1)


def _forward(layer: Any, factor: Tensor, rows: Tensor) -> Tensor:
    low = layer.lora_A[ADAPTER](rows)  # [s·b, t, rank]
    base = layer.base_layer(rows)
    parts = base.view(len(factor), -1, base.shape[-1])  # [s, b·t, outputs]
    scale = float(layer.scaling[ADAPTER])
    both = torch.baddbmm(parts, low.view(len(factor), -1, low.shape[-1]), factor.transpose(1, 2), alpha=scale)
    return both.view_as(base)


def _filled(rows: Tensor, count: int, value: int) -> Tensor:
    missing = rows.new_full((count - len(rows), rows.shape[1]), value)
    return torch.cat([rows, missing])
