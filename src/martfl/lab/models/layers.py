"""Layers over many models at once: stacked weights, batched matrix products, deterministic backward passes.

A convolution over stacked weights is one batched product of patches and weights; grouped convolutions, which vmap
would make of it, are several times slower on a GPU. Rows are [n, b, h, w, c]: channels last, so that a patch is a copy
of contiguous runs and a product's result is already the next layer's input. Channels are filled up with zeros to whole
16 bytes, which tensor cores ask for: zero inputs and zero weights add nothing and get no gradient.
"""

from __future__ import annotations

from types import ModuleType

import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.lab.models import windows
from martfl.lab.models.base import Context
from martfl.lab.models.kernels import kernels_for
from martfl.lab.models.windows import filled_up

TILES = 1024  # result tiles of 32 × 32 that keep a large GPU busy
FEW = 16  # outputs up to which patches cost more than they help
SMALL = "martfl.lab.models.small_conv_cuda"


def _windows(x: Tensor) -> ModuleType:
    return kernels_for(x, "martfl.lab.models.windows_cuda") or windows


def linear_many(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[n, b, in] × [n, in, out] + [n, out]."""
    return torch.baddbmm(bias.unsqueeze(1), x, weight)


def _inner(flat: Tensor, kernel: int, inputs: int, weight: torch.Size) -> Tensor:
    """The part of [n, k·k·c and zeros, o and zeros] that holds weights [n, k, k, c, o], as a view of that shape."""
    whole = flat[:, : kernel * kernel * inputs].view(weight[0], kernel, kernel, inputs, -1)
    return whole[..., : weight[3], : weight[4]]


class ConvMany(torch.autograd.Function):
    """A valid convolution, stride 1; the gradient of the rows is summed shift by shift, in a fixed order."""

    @staticmethod
    def forward(ctx: Context, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        n, b, h, w, c = x.shape
        kernel, outputs = weight.shape[1], filled_up(weight.shape[-1], x.element_size())
        patches = _windows(x).cut(x, kernel)
        flat = weight.new_zeros(n, patches.shape[-1], outputs)
        _inner(flat, kernel, c, weight.shape).copy_(weight)
        shift = F.pad(bias, (0, outputs - bias.shape[-1]))
        ctx.save_for_backward(patches, flat)
        ctx.shapes = x.shape, weight.shape
        return torch.baddbmm(shift.unsqueeze(1), patches, flat).view(n, b, h - kernel + 1, w - kernel + 1, outputs)

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        patches, flat = ctx.saved_tensors
        rows, weights = ctx.shapes
        kernel, outputs = weights[1], weights[-1]
        grad = grads[0].reshape(rows[0], -1, flat.shape[-1])  # [n, b·h'·w', o and zeros]
        weight_grad = _inner(_product(patches, grad, rows[1]), kernel, rows[-1], weights)
        rows_grad = None
        if ctx.needs_input_grad[0]:
            rows_grad = _windows(grad).join(torch.bmm(grad, flat.transpose(1, 2)), rows, kernel)
        return rows_grad, weight_grad, grad.sum(1)[:, :outputs]


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


def conv_many(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[n, b, h, w, c and zeros] with weights [n, k, k, c, o] -> [n, b, h', w', o and zeros]."""
    result: Tensor = ConvMany.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return result


class PoolMany(torch.autograd.Function):
    """The largest of each 2 × 2 block, then ReLU; the gradient goes to the first largest value."""

    @staticmethod
    def forward(ctx: Context, x: Tensor) -> Tensor:
        pooled: Tensor = _windows(x).pool(x)
        ctx.save_for_backward(x, pooled)
        return pooled

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Tensor:
        x, pooled = ctx.saved_tensors
        rows_grad: Tensor = _windows(x).unpool(grads[0], x, pooled)
        return rows_grad


def pool_relu_many(x: Tensor) -> Tensor:
    """[n, b, h, w, c] -> [n, b, h/2, w/2, c]."""
    result: Tensor = PoolMany.apply(x)  # type: ignore[no-untyped-call]
    return result


class SmallConv(torch.autograd.Function):
    """A valid convolution with few outputs, pooling and ReLU, in one."""

    @staticmethod
    def forward(ctx: Context, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        kernels = kernels_for(x, SMALL)
        assert kernels is not None
        pooled: Tensor
        pooled, note = kernels.forward(x, weight, bias)
        ctx.save_for_backward(x, weight, note)
        return pooled

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        x, weight, note = ctx.saved_tensors
        kernels = kernels_for(x, SMALL)
        assert kernels is not None
        rows_grad = kernels.rows_grad(x, weight, grads[0], note) if ctx.needs_input_grad[0] else None
        return rows_grad, *kernels.weight_grad(x, weight, grads[0], note)


def conv_pool_many(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A convolution, pooling and ReLU: [n, b, h, w, c and zeros] -> [n, b, h'/2, w'/2, o and zeros]."""
    if weight.shape[-1] <= FEW and x.shape[-1] == weight.shape[3] and kernels_for(x, SMALL):
        result: Tensor = SmallConv.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return result
    return pool_relu_many(conv_many(x, weight, bias))


def conv_one(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The same for one model with rows [b, c, h, w] and weights [k, k, c, o]."""
    return F.conv2d(x, weight.permute(3, 2, 0, 1), bias)


def pool_relu_one(x: Tensor) -> Tensor:
    """ReLU after pooling: the same values as before it, on a quarter of the numbers."""
    return F.relu(F.max_pool2d(x, 2))
