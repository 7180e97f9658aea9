"""A small perceptron with one hidden layer, for rows of numbers."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.lab.data.base import Dataset
from martfl.lab.models.base import Inputs, Model, Params, dense
from martfl.lab.models.layers import linear_many

HIDDEN = 32


def _numbers(x: Tensor, keep: int) -> Tensor:
    values = x.to(torch.float32).div(255) if x.dtype == torch.uint8 else x.to(torch.float32)
    return values.flatten(keep)


def _one(params: Params, x: Tensor) -> Tensor:
    hidden = F.relu(torch.addmm(params[1], _numbers(x, 1).to(params[0].dtype), params[0]))
    return torch.addmm(params[3], hidden, params[2])


def _stacked(params: Params, inputs: Inputs) -> Tensor:
    hidden = F.relu(linear_many(_numbers(inputs[0], 2).to(params[0].dtype), params[0], params[1]))
    return linear_many(hidden, params[2], params[3])


def mlp(dataset: Dataset) -> Model:
    """2,410 parameters on the digits."""
    inputs = math.prod(dataset.train_x.shape[1:])
    weights = (*dense("hidden", inputs, HIDDEN), *dense("out", HIDDEN, dataset.num_classes))
    return Model("mlp", weights, one=_one, stacked=_stacked, activation_floats=2 * inputs + 4 * HIDDEN)
