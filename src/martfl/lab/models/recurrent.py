"""Next-character prediction as in LEAF (Caldas et al., 2018): embedding 8, two LSTM layers of 256 units.

i, f, o = σ(…), g = tanh(…) of x_t·W + b + h_{t−1}·U;   c_t = f ⊙ c_{t−1} + i ⊙ g;   h_t = o ⊙ tanh(c_t)
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.errors import InputError
from martfl.lab.data.base import Dataset
from martfl.lab.models.base import Context, Inputs, Model, Params, Weight, dense
from martfl.lab.models.kernels import kernels_for
from martfl.lab.models.layers import linear_many

WIDTH, HIDDEN, LAYERS = 8, 256, 2
KERNELS = "martfl.lab.models.recurrent_cuda"


class Recurrence(torch.autograd.Function):
    """One LSTM layer over many models: inputs [n, L, b, 4·h] (x_t·W + b), weight U [n, h, 4·h] -> [n, L, b, h].

    The steps must follow one another; the gradient of the weight is one product over all of them at the end.
    """

    @staticmethod
    def forward(ctx: Context, inputs: Tensor, weight: Tensor) -> Tensor:
        n, length, b, _ = inputs.shape
        states, cells = (inputs.new_empty(n, length + 1, b, weight.shape[1]) for _ in range(2))
        states[:, 0], cells[:, 0] = 0, 0  # from before the first
        gates, step = torch.empty_like(inputs), (kernels_for(inputs, KERNELS) or _Steps).forward
        for t in range(length):
            sums = torch.bmm(states[:, t], weight)
            step(sums, inputs[:, t], cells[:, t], gates[:, t], cells[:, t + 1], states[:, t + 1])
        ctx.save_for_backward(states, cells, gates, weight)
        return states[:, 1:]

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> tuple[Tensor, Tensor]:
        states, cells, gates, weight = ctx.saved_tensors
        slopes, back, grad = torch.empty_like(gates), weight.transpose(1, 2), grads[0].contiguous()
        state = torch.zeros_like(states[:, 0], memory_format=torch.contiguous_format)  # ∂L/∂h_t through what follows
        cell, step = torch.zeros_like(state), (kernels_for(gates, KERNELS) or _Steps).backward
        for t in reversed(range(gates.shape[1])):
            step(gates[:, t], cells[:, t + 1], cells[:, t], grad[:, t], state, cell, slopes[:, t])
            state = torch.bmm(slopes[:, t], back)
        before, after = states[:, :-1].flatten(1, 2), slopes.flatten(1, 2)  # [n, L·b, …]
        return slopes, torch.bmm(before.transpose(1, 2), after)


class _Steps:
    """What a step does beside its matrix product, as `recurrent_cuda` does it."""

    @staticmethod
    def forward(sums: Tensor, x: Tensor, before: Tensor, gates: Tensor, cells: Tensor, states: Tensor) -> None:
        i, f, o, g = (sums + x).chunk(4, dim=-1)
        gates.copy_(torch.cat([torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o), torch.tanh(g)], dim=-1))
        i, f, o, g = gates.chunk(4, dim=-1)
        cells.copy_(torch.addcmul(f * before, i, g))
        states.copy_(o * torch.tanh(cells))

    @staticmethod
    def backward(
        gates: Tensor, cells: Tensor, before: Tensor, grad: Tensor, carried: Tensor, cell_grad: Tensor, slopes: Tensor
    ) -> None:
        i, f, o, g = gates.chunk(4, dim=-1)
        bent, state = torch.tanh(cells), grad + carried
        cell_grad.addcmul_(state * o, 1 - bent * bent)
        parts = (cell_grad * g * i * (1 - i), cell_grad * before * f * (1 - f), state * bent * o * (1 - o),
                 cell_grad * i * (1 - g * g))  # fmt: skip
        slopes.copy_(torch.cat(parts, dim=-1))
        cell_grad.mul_(f)


def _stacked(params: Params, inputs: Inputs) -> Tensor:
    table, *layers, head, head_bias = params
    (x,) = inputs
    n, b, length = x.shape
    first = torch.arange(n, device=x.device, dtype=x.dtype).mul_(table.shape[1]).view(n, 1, 1)
    rows = F.embedding((x + first).transpose(1, 2), table.flatten(0, 1))  # [n, L, b, 8]
    for weight, recurrent, bias in zip(layers[::3], layers[1::3], layers[2::3], strict=True):
        sums = linear_many(rows.flatten(1, 2), weight, bias).view(n, length, b, -1)
        rows = Recurrence.apply(sums, recurrent)  # type: ignore[no-untyped-call]
    return linear_many(rows[:, -1], head, head_bias)


def _one(params: Params, x: Tensor) -> Tensor:
    return _stacked([part.unsqueeze(0) for part in params], (x.unsqueeze(0),))[0]


def _layer(number: int, inputs: int, hidden: int) -> tuple[Weight, Weight, Weight]:
    bound = 1 / math.sqrt(hidden)
    return (
        Weight(f"lstm{number}.weight", (inputs, 4 * hidden), bound),
        Weight(f"lstm{number}.recurrent", (hidden, 4 * hidden), bound),
        Weight(f"lstm{number}.bias", (4 * hidden,), bound),
    )


def char_lstm(dataset: Dataset) -> Model:
    """About 815,000 parameters for Shakespeare's characters."""
    if dataset.kind != "text":
        raise InputError(f"model char-lstm reads texts; dataset {dataset.name} has {dataset.kind}")
    weights = (
        Weight("embedding", (dataset.vocabulary, WIDTH), normal=1.0),
        *(weight for k in range(LAYERS) for weight in _layer(k, HIDDEN if k else WIDTH, HIDDEN)),
        *dense("fc", HIDDEN, dataset.num_classes),
    )
    floats = dataset.train_x.shape[1] * LAYERS * 12 * HIDDEN
    return Model("char-lstm", weights, one=_one, stacked=_stacked, activation_floats=floats)
