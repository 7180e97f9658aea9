"""LeNet (LeCun et al., 1998) and the seven-layer CNN of the paper's appendix."""

from __future__ import annotations

import functools
import itertools

import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.errors import InputError
from martfl.lab.data.base import Dataset
from martfl.lab.models.base import Inputs, Model, Params, Weight, conv, dense
from martfl.lab.models.layers import conv_one, conv_pool_many, linear_many, pool_relu_one
from martfl.lab.models.windows import filled_up

Scale = tuple[tuple[float, ...], tuple[float, ...]]  # mean and deviation by channel


@functools.lru_cache(maxsize=16)
def _factors(scale: Scale, device: torch.device) -> tuple[Tensor, Tensor]:
    """(pixel/255 − mean)/deviation as pixel·a + b, by channel; kept, since a captured graph may not make them anew."""
    mean, deviation = torch.tensor(scale[0]), torch.tensor(scale[1])
    return (1 / (255 * deviation)).to(device), (-mean / deviation).to(device)


def _normal(x: Tensor, scale: Scale) -> Tensor:
    """Pixels 0 to 255 to zero mean and unit deviation; channels last."""
    factor, shift = _factors(scale, x.device)
    return torch.addcmul(shift, x.to(torch.float32), factor)


def _one(params: Params, x: Tensor, *, convs: int, scale: Scale) -> Tensor:
    hidden = _normal(x, scale).to(params[0].dtype).permute(0, 3, 1, 2)  # [b, c, h, w]
    for layer in range(convs):
        hidden = pool_relu_one(conv_one(hidden, params[2 * layer], params[2 * layer + 1]))
    hidden = hidden.permute(0, 2, 3, 1).flatten(1)
    return _head_one(params[2 * convs :], hidden)


def _head_one(params: Params, hidden: Tensor) -> Tensor:
    for layer in range(0, len(params) - 2, 2):
        hidden = F.relu(torch.addmm(params[layer + 1], hidden, params[layer]))
    return torch.addmm(params[-1], hidden, params[-2])


def _stacked(params: Params, inputs: Inputs, *, convs: int, scale: Scale) -> Tensor:
    hidden = _normal(inputs[0], scale).to(params[0].dtype)  # [n, b, h, w, c]
    for layer in range(convs):
        hidden = conv_pool_many(hidden, params[2 * layer], params[2 * layer + 1])
    hidden = hidden[..., : params[2 * convs - 1].shape[-1]].flatten(2)
    for layer in range(2 * convs, len(params) - 2, 2):
        hidden = F.relu(linear_many(hidden, params[layer], params[layer + 1]))
    return linear_many(hidden, params[-2], params[-1])


def _build(name: str, dataset: Dataset, convs: list[tuple[int, int]], hidden: list[int]) -> Model:
    if dataset.kind != "image":
        raise InputError(f"model {name} reads images; dataset {dataset.name} has {dataset.kind}")
    _, side, width, channels = dataset.train_x.shape
    weights: list[Weight] = []
    floats = 0
    for number, (outputs, kernel) in enumerate(convs, start=1):
        side, width = side - kernel + 1, width - kernel + 1
        if side < 2 or width < 2:
            raise InputError(f"model {name} needs larger images than {dataset.train_x.shape[1:3]}")
        floats += side * width * (2 * kernel * kernel * filled_up(channels) + 4 * filled_up(outputs))
        weights += conv(f"conv{number}", channels, outputs, kernel)
        side, width, channels = side // 2, width // 2, outputs
    sizes = [side * width * channels, *hidden, dataset.num_classes]
    for number, (inputs, outputs) in enumerate(itertools.pairwise(sizes), start=1):
        weights += dense(f"fc{number}", inputs, outputs)
    scale = (dataset.mean, dataset.deviation)
    return Model(
        name=name,
        weights=tuple(weights),
        one=lambda params, x: _one(params, x, convs=len(convs), scale=scale),
        stacked=lambda params, inputs: _stacked(params, inputs, convs=len(convs), scale=scale),
        activation_floats=floats,
    )


def lenet(dataset: Dataset) -> Model:
    """Two convolutions and three linear layers: 44,426 parameters on 28 × 28 grey images."""
    return _build("lenet", dataset, [(6, 5), (16, 5)], [120, 84])


def cnn(dataset: Dataset) -> Model:
    """Three convolutions and four linear layers: 931,529 parameters on 32 × 32 colour images."""
    return _build("cnn", dataset, [(15, 3), (75, 4), (375, 3)], [400, 120, 84])
