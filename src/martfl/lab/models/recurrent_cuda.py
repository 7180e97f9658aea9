"""What an LSTM step does beside its matrix product, a kernel each way, for GPUs."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 256


@triton.jit
def _sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def _tanh(x):
    """Of both signs without overflow."""
    far = tl.exp(-2.0 * tl.abs(x))
    flat = (1.0 - far) / (1.0 + far)
    return tl.where(x < 0, -flat, flat)


@triton.jit
def _forward(z, x, before, gates, cells, states, stride, wide, rows, HIDDEN: tl.constexpr, N: tl.constexpr):
    """One program: a part of one model's cells. `stride` and `wide` lie between models, of cells and of gates."""
    model, at = tl.program_id(1).to(tl.int64), tl.program_id(0) * N + tl.arange(0, N)
    row, h = at // HIDDEN, at % HIDDEN
    inside = row < rows
    four, cell = row * (4 * HIDDEN) + h, model * stride + at
    z += model * rows * (4 * HIDDEN) + four
    x += model * wide + four
    gates += model * wide + four
    i = _sigmoid(tl.load(z, mask=inside) + tl.load(x, mask=inside))
    f = _sigmoid(tl.load(z + HIDDEN, mask=inside) + tl.load(x + HIDDEN, mask=inside))
    o = _sigmoid(tl.load(z + 2 * HIDDEN, mask=inside) + tl.load(x + 2 * HIDDEN, mask=inside))
    g = _tanh(tl.load(z + 3 * HIDDEN, mask=inside) + tl.load(x + 3 * HIDDEN, mask=inside))
    c = f * tl.load(before + cell, mask=inside) + i * g
    tl.store(gates, i, mask=inside)
    tl.store(gates + HIDDEN, f, mask=inside)
    tl.store(gates + 2 * HIDDEN, o, mask=inside)
    tl.store(gates + 3 * HIDDEN, g, mask=inside)
    tl.store(cells + cell, c, mask=inside)
    tl.store(states + cell, o * _tanh(c), mask=inside)


@triton.jit
def _backward(
    gates, cells, before, grad, carried, cell_grad, slopes, stride, grad_stride, wide, rows,
    HIDDEN: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """The gradients of the four sums, and of the cell before; `carried` and `cell_grad` [n, b, h] come from after."""
    model, at = tl.program_id(1).to(tl.int64), tl.program_id(0) * N + tl.arange(0, N)
    row, h = at // HIDDEN, at % HIDDEN
    inside = row < rows
    four, cell, dense = model * wide + row * (4 * HIDDEN) + h, model * stride + at, model * rows * HIDDEN + at
    i, f = tl.load(gates + four, mask=inside), tl.load(gates + four + HIDDEN, mask=inside)
    o, g = tl.load(gates + four + 2 * HIDDEN, mask=inside), tl.load(gates + four + 3 * HIDDEN, mask=inside)
    bent = _tanh(tl.load(cells + cell, mask=inside))
    state = tl.load(grad + model * grad_stride + at, mask=inside) + tl.load(carried + dense, mask=inside)
    c = tl.load(cell_grad + dense, mask=inside) + state * o * (1 - bent * bent)
    tl.store(slopes + four, c * g * i * (1 - i), mask=inside)
    tl.store(slopes + four + HIDDEN, c * tl.load(before + cell, mask=inside) * f * (1 - f), mask=inside)
    tl.store(slopes + four + 2 * HIDDEN, state * bent * o * (1 - o), mask=inside)
    tl.store(slopes + four + 3 * HIDDEN, c * i * (1 - g * g), mask=inside)
    tl.store(cell_grad + dense, c * f, mask=inside)


def _grid(state: Tensor) -> tuple[int, int]:
    return triton.cdiv(state[0].numel(), BLOCK), len(state)


def forward(z: Tensor, x: Tensor, before: Tensor, gates: Tensor, cells: Tensor, states: Tensor) -> None:
    """A step of n models: the sums z + x [n, b, 4·h] and the cells before it to gates, cells and states.

    All but z are views of one step: x and gates lie alike, and so do cells and states.
    """
    _forward[_grid(cells)](
        z, x, before, gates, cells, states, cells.stride(0), gates.stride(0), *cells.shape[1:], BLOCK
    )


def backward(
    gates: Tensor, cells: Tensor, before: Tensor, grad: Tensor, carried: Tensor, cell_grad: Tensor, slopes: Tensor
) -> None:
    """The step's gradients into `slopes`; `cell_grad` becomes that of the cells before it."""
    _backward[_grid(cells)](
        gates, cells, before, grad, carried, cell_grad, slopes, cells.stride(0), grad.stride(0), gates.stride(0),
        *cells.shape[1:], BLOCK,
    )  # fmt: skip
