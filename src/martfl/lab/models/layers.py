"""Layers over many models at once: stacked weights, batched matrix products, deterministic backward passes.

A convolution over stacked weights is one batched product of patches and weights; grouped convolutions, which vmap
would make of it, are several times slower on a GPU. Rows are [n, b, h, w, c]: channels last, so that a patch is a copy
of contiguous runs and a product's result is already the next layer's input.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

TILES = 1024  # result tiles of 32 × 32 that keep a large GPU busy


def linear_many(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[n, b, in] × [n, in, out] + [n, out]."""
    return torch.baddbmm(bias.unsqueeze(1), x, weight)


def _patches(x: Tensor, kernel: int) -> Tensor:
    """[n, b, h, w, c] -> [n, b·h'·w', k·k·c]."""
    n, b, h, w, c = x.shape
    view = x.unfold(2, kernel, 1).unfold(3, kernel, 1)  # [n, b, h', w', c, k, k]
    return view.permute(0, 1, 2, 3, 5, 6, 4).reshape(n, b * (h - kernel + 1) * (w - kernel + 1), kernel * kernel * c)


class ConvMany(torch.autograd.Function):
    """A valid convolution, stride 1; the gradient of the rows is summed shift by shift, in a fixed order."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        n, b, h, w, _ = x.shape
        kernel, outputs = weight.shape[1], weight.shape[-1]
        patches = _patches(x, kernel)
        flat = weight.reshape(n, -1, outputs)  # [n, k·k·c, o]
        ctx.save_for_backward(patches, flat)
        ctx.shapes = x.shape, weight.shape
        return torch.baddbmm(bias.unsqueeze(1), patches, flat).view(n, b, h - kernel + 1, w - kernel + 1, outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        patches, flat = ctx.saved_tensors
        rows, weights = ctx.shapes
        grad = grads[0].reshape(rows[0], -1, weights[-1])  # [n, b·h'·w', o]
        weight_grad = _product(patches, grad, rows[1]).view(weights)
        rows_grad = (
            _gather(torch.bmm(grad, flat.transpose(1, 2)), rows, weights[1]) if ctx.needs_input_grad[0] else None
        )
        return rows_grad, weight_grad, grad.sum(1)


def _product(left: Tensor, right: Tensor, rows: int) -> Tensor:
    """Leftᵀ · right per model, [n, s, a] and [n, s, c] -> [n, a, c], with a long sum s over a power of two of parts.

    A GPU gives each result tile to one multiprocessor, so that a small result with a long sum leaves most of them idle;
    the sum is cut into parts until there are tiles enough, and the parts are added up in a fixed order.
    """
    n, _, a = left.shape
    c, parts = right.shape[2], 1
    if left.is_cuda:
        tiles = n * -(-a // 32) * -(-c // 32)
        while tiles * parts < TILES and rows % (2 * parts) == 0:
            parts *= 2
    cut = torch.bmm(left.reshape(n * parts, -1, a).transpose(1, 2), right.reshape(n * parts, -1, c))
    return cut.view(n, parts, a, c).sum(1) if parts > 1 else cut


def _gather(patches: Tensor, shape: torch.Size, kernel: int) -> Tensor:
    """The adjoint of `_patches`."""
    n, b, h, w, c = shape
    high, wide = h - kernel + 1, w - kernel + 1
    pieces = patches.view(n, b, high, wide, kernel, kernel, c)
    out = patches.new_zeros(shape)
    for i in range(kernel):
        for j in range(kernel):
            out[:, :, i : i + high, j : j + wide] += pieces[:, :, :, :, i, j]
    return out


def conv_many(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[n, b, h, w, c] with weights [n, k, k, c, o] -> [n, b, h', w', o]."""
    result: Tensor = ConvMany.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return result


class PoolMany(torch.autograd.Function):
    """The largest of each 2 × 2 block, then ReLU; the gradient goes to the first largest value."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        n, b, h, w, c = x.shape
        ctx.shape = x.shape
        blocks = x[:, :, : h // 2 * 2, : w // 2 * 2].reshape(n, b, h // 2, 2, w // 2, 2, c)
        best = blocks.amax(dim=(3, 5))  # [n, b, h/2, w/2, c]
        result = best.clamp(min=0)
        ctx.save_for_backward(blocks, best)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        blocks, best = ctx.saved_tensors
        h, w = ctx.shape[2:4]
        out = grads[0].new_zeros(ctx.shape)
        free = best > 0  # where the gradient still has to be placed
        for i in range(2):
            for j in range(2):
                hit = free & (blocks[:, :, :, i, :, j] == best)
                out[:, :, i : h // 2 * 2 : 2, j : w // 2 * 2 : 2] = grads[0] * hit
                free = free & ~hit
        return out


def pool_relu_many(x: Tensor) -> Tensor:
    """[n, b, h, w, c] -> [n, b, h/2, w/2, c]."""
    result: Tensor = PoolMany.apply(x)  # type: ignore[no-untyped-call]
    return result


def conv_one(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The same for one model with rows [b, c, h, w] and weights [k, k, c, o]."""
    return F.conv2d(x, weight.permute(3, 2, 0, 1), bias)


def pool_relu_one(x: Tensor) -> Tensor:
    """ReLU after pooling: the same values as before it, on a quarter of the numbers."""
    return F.relu(F.max_pool2d(x, 2))
