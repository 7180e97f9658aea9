"""A model as a list of shapes over one flat parameter vector, with a forward pass for one and for many at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

Params = list[Tensor]
Inputs = tuple[Tensor, ...]
Shape = tuple[int, ...]

Context = Any  # torch's, on which `forward` leaves what `backward` takes


def as_they_are(x: Tensor) -> Inputs:
    """Rows that need no laying out."""
    return (x,)


@dataclass(frozen=True)
class Weight:
    """One parameter tensor: its shape and how it starts. Bound 0 with normal 0 starts at zero."""

    name: str
    shape: Shape
    bound: float = 0.0  # uniform in ±bound
    normal: float = 0.0  # or Gaussian with this deviation

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Model:
    """The architecture alone; parameters are always passed in.

    `one` maps (parameters, rows [b, …]) to logits [b, c]; `many` maps parameters with a leading axis n and rows
    [n, b, …] to [n, b, c], each model seeing its own rows. Both take raw dataset rows. The two must agree, which
    the tests check. What of the rows does not depend on the parameters is done by `lay_out`, for many steps at once
    if need be, and `stacked` does the rest. `table` says that the first weight is an embedding table looked up by token
    numbers.
    """

    name: str
    weights: tuple[Weight, ...]
    one: Callable[[Params, Tensor], Tensor]
    stacked: Callable[[Params, Inputs], Tensor]
    activation_floats: int  # kept for one row during training; the memory cap counts with it
    table: bool = False
    lay_out: Callable[[Tensor], Inputs] = as_they_are  # [..., n, b, …] -> tensors [..., n, …]

    @property
    def size(self) -> int:
        return sum(weight.size for weight in self.weights)

    def many(self, params: Params, x: Tensor) -> Tensor:
        """[n, …] parameters and [n, b, …] rows to logits [n, b, c]."""
        return self.stacked(params, self.lay_out(x))

    def split(self, flat: Tensor) -> Params:
        """Views of a flat vector [m], or of stacked vectors [n, m], in the shapes of the weights."""
        return split_flat(flat, tuple(weight.shape for weight in self.weights))

    def start(self, rng: np.random.Generator) -> Tensor:
        """A fresh flat parameter vector [m]."""
        parts = [_draw(weight, rng) for weight in self.weights]
        return torch.from_numpy(np.concatenate(parts).astype(np.float32))


def split_flat(flat: Tensor, shapes: tuple[Shape, ...]) -> Params:
    """Cut the last axis of `flat` into views of the given shapes."""
    pieces = torch.split(flat, [math.prod(shape) for shape in shapes], dim=-1)
    return [piece.view(*flat.shape[:-1], *shape) for piece, shape in zip(pieces, shapes, strict=True)]


def _draw(weight: Weight, rng: np.random.Generator) -> np.ndarray:
    if weight.normal:
        return rng.normal(0.0, weight.normal, weight.size)
    return rng.uniform(-weight.bound, weight.bound, weight.size)


def dense(name: str, inputs: int, outputs: int) -> tuple[Weight, Weight]:
    """Weight [in, out] and bias of a linear layer, started as torch starts them: uniform in ±1/√in."""
    bound = 1 / math.sqrt(inputs)
    return Weight(f"{name}.weight", (inputs, outputs), bound), Weight(f"{name}.bias", (outputs,), bound)


def conv(name: str, inputs: int, outputs: int, kernel: int) -> tuple[Weight, Weight]:
    """Weight [k, k, in, out] and bias of a square convolution."""
    bound = 1 / math.sqrt(inputs * kernel * kernel)
    return Weight(f"{name}.weight", (kernel, kernel, inputs, outputs), bound), Weight(f"{name}.bias", (outputs,), bound)
