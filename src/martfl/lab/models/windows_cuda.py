"""The functions of `windows` as one Triton kernel each: memory bounds them on a GPU, and each reads and writes once.

A program works on a block of one image's results; sizes are constants of a kernel, so that places cost no division.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from martfl.lab.models.windows import filled_up

BLOCK = 1024


@triton.jit
def _cut(
    x, out, H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, K: tl.constexpr, ROW: tl.constexpr, N: tl.constexpr
):
    image, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * N + tl.arange(0, N)
    wide, size = W - K + 1, (H - K + 1) * (W - K + 1) * ROW
    place, q = at // ROW, at % ROW
    y, z = place // wide + q // (K * C), place % wide + q // C % K
    value = tl.load(x + image * (H * W * C) + (y * W + z) * C + q % C, mask=(at < size) & (q < K * K * C), other=0.0)
    tl.store(out + image * size + at, value, mask=at < size)


@triton.jit
def _join(
    patches, out, H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, K: tl.constexpr, ROW: tl.constexpr, N: tl.constexpr
):
    image, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * N + tl.arange(0, N)
    high, wide = H - K + 1, W - K + 1
    c, z, y = at % C, at // C % W, at // (C * W)
    start = patches + image * (high * wide * ROW)
    total = tl.zeros((N,), tl.float32)
    for i in tl.static_range(K):
        for j in tl.static_range(K):
            inside = (y >= i) & (y < high + i) & (z >= j) & (z < wide + j)
            place = ((y - i) * wide + z - j) * ROW + (i * K + j) * C + c
            total += tl.load(start + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + image * (H * W * C) + at, total, mask=at < H * W * C)


@triton.jit
def _corner(base, image, at, H: tl.constexpr, W: tl.constexpr, C: tl.constexpr):
    """Where the 2 × 2 block of a pooled value begins."""
    c, z, y = at % C, at // C % (W // 2), at // (C * (W // 2))
    return base + image * (H * W * C) + (2 * y * W + 2 * z) * C + c


@triton.jit
def _pool(x, out, H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, N: tl.constexpr):
    image, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * N + tl.arange(0, N)
    size = (H // 2) * (W // 2) * C
    corner, best = _corner(x, image, at, H, W, C), tl.zeros((N,), x.dtype.element_ty)
    for i in tl.static_range(2):
        for j in tl.static_range(2):
            value = tl.load(corner + (i * W + j) * C, mask=at < size, other=0.0)
            best = tl.maximum(best, value, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out + image * size + at, best, mask=at < size)


@triton.jit
def _unpool(grad, x, pooled, out, H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, N: tl.constexpr):
    image, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * N + tl.arange(0, N)
    size = (H // 2) * (W // 2) * C
    corner, target = _corner(x, image, at, H, W, C), _corner(out, image, at, H, W, C)
    g = tl.load(grad + image * size + at, mask=at < size, other=0.0)
    best = tl.load(pooled + image * size + at, mask=at < size, other=0.0)
    free = best > 0
    for i in tl.static_range(2):
        for j in tl.static_range(2):
            hit = free & (tl.load(corner + (i * W + j) * C, mask=at < size, other=0.0) == best)
            tl.store(target + (i * W + j) * C, tl.where(hit, g, 0.0), mask=at < size)
            free = free & (hit == 0)


def _grid(images: int, size: int) -> tuple[int, int]:
    return images, triton.cdiv(size, BLOCK)


def cut(x: Tensor, kernel: int) -> Tensor:
    """As `windows.cut`."""
    n, b, h, w, c = x.shape
    places, row = (h - kernel + 1) * (w - kernel + 1), filled_up(kernel * kernel * c, x.element_size())
    out = x.new_empty(n, b * places, row)
    _cut[_grid(n * b, places * row)](x.contiguous(), out, h, w, c, kernel, row, BLOCK)
    return out


def join(patches: Tensor, shape: torch.Size, kernel: int) -> Tensor:
    """As `windows.join`; sums in 32 bits."""
    n, b, h, w, c = shape
    out = patches.new_empty(shape)
    _join[_grid(n * b, h * w * c)](patches.contiguous(), out, h, w, c, kernel, patches.shape[-1], BLOCK)
    return out


def pool(x: Tensor) -> Tensor:
    """As `windows.pool`."""
    n, b, h, w, c = x.shape
    out = x.new_empty(n, b, h // 2, w // 2, c)
    _pool[_grid(n * b, h // 2 * (w // 2) * c)](x.contiguous(), out, h, w, c, BLOCK)
    return out


def unpool(grad: Tensor, x: Tensor, pooled: Tensor) -> Tensor:
    """As `windows.unpool`."""
    n, b, h, w, c = x.shape
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    if h % 2 or w % 2:
        out.zero_()  # the last row or column belongs to no block
    _unpool[_grid(n * b, h // 2 * (w // 2) * c)](
        grad.contiguous(), x.contiguous(), pooled.contiguous(), out, h, w, c, BLOCK
    )
    return out
