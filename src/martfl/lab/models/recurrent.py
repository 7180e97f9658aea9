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
from martfl.lab.models.base import Context, Model, Params, Weight, dense
from martfl.lab.models.layers import linear_many

WIDTH, HIDDEN, LAYERS = 8, 256, 2


class Recurrence(torch.autograd.Function):
    """One LSTM layer over many models: inputs [L, n, b, 4·h] (x_t·W + b), weight U [n, h, 4·h] -> [L, n, b, h].

    The steps must follow one another; the gradient of the weight is one product over all of them at the end.
    """

    @staticmethod
    def forward(ctx: Context, inputs: Tensor, weight: Tensor) -> Tensor:
        length, n, b, _ = inputs.shape
        states, cells = (inputs.new_zeros(length + 1, n, b, weight.shape[1]) for _ in range(2))  # from before the first
        gates = torch.empty_like(inputs)
        for t in range(length):
            i, f, o, g = torch.baddbmm(inputs[t], states[t], weight).chunk(4, dim=-1)
            torch.cat([torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o), torch.tanh(g)], dim=-1, out=gates[t])
            i, f, o, g = gates[t].chunk(4, dim=-1)
            torch.addcmul(f * cells[t], i, g, out=cells[t + 1])
            torch.mul(o, torch.tanh(cells[t + 1]), out=states[t + 1])
        ctx.save_for_backward(states, cells, gates, weight)
        return states[1:]

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> tuple[Tensor, Tensor]:
        states, cells, gates, weight = ctx.saved_tensors
        slopes, back = torch.empty_like(gates), weight.transpose(1, 2)
        state = torch.zeros_like(states[0])  # ∂L/∂h_t through the step after it
        cell = torch.zeros_like(state)
        for t in reversed(range(len(gates))):
            i, f, o, g = gates[t].chunk(4, dim=-1)
            bent, state = torch.tanh(cells[t + 1]), grads[0][t] + state
            cell = torch.addcmul(cell, state * o, 1 - bent * bent)
            parts = (cell * g * i * (1 - i), cell * cells[t] * f * (1 - f), state * bent * o * (1 - o),
                     cell * i * (1 - g * g))  # fmt: skip
            torch.cat(parts, dim=-1, out=slopes[t])
            state, cell = torch.bmm(slopes[t], back), cell * f
        before, after = (part.transpose(0, 1).flatten(1, 2) for part in (states[:-1], slopes))  # [n, L·b, …]
        return slopes, torch.bmm(before.transpose(1, 2), after)


def _many(params: Params, x: Tensor) -> Tensor:
    table, *layers, head, head_bias = params
    n, b, length = x.shape
    first = torch.arange(n, device=x.device, dtype=x.dtype).mul_(table.shape[1]).view(n, 1, 1)
    rows = F.embedding((x + first).permute(2, 0, 1), table.flatten(0, 1))  # [L, n, b, 8]
    for weight, recurrent, bias in zip(layers[::3], layers[1::3], layers[2::3], strict=True):
        flat = rows.transpose(0, 1).reshape(n, length * b, -1)
        inputs = linear_many(flat, weight, bias).view(n, length, b, -1).transpose(0, 1).contiguous()
        rows = Recurrence.apply(inputs, recurrent)  # type: ignore[no-untyped-call]
    return linear_many(rows[-1], head, head_bias)


def _one(params: Params, x: Tensor) -> Tensor:
    return _many([part.unsqueeze(0) for part in params], x.unsqueeze(0))[0]


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
    return Model("char-lstm", weights, one=_one, many=_many, activation_floats=floats)
