"""A convolution with few outputs, ReLU and 2 × 2 pooling, without patches in memory: a kernel each way, for GPUs.

Where a layer has few outputs its products are small and its patches large, so that reading and writing patches takes
most of the time. Here a program computes the four results of every pooled value from the rows themselves and keeps the
largest, with a note which of the four it was; backwards, the same note says where a gradient goes. `size` is that of
pooled rows. Rows are [n, b, h, w, c], weights [n, k, k, c, o]: in both, what a window's line meets lies together.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from martfl.lab.models.kernels import product_precision

OUTPUTS = 16  # at the most: one tile of a tensor core's product
PARTS = 16  # of a long sum over rows, added up in a fixed order


@triton.jit
def _offset(q, W: tl.constexpr, C: tl.constexpr, K: tl.constexpr):
    """Where the q-th value of a window lies, counted from its corner."""
    return q // (K * C) * (W * C) + q % (K * C)


@triton.jit
def _corner(m, H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, K: tl.constexpr):
    """Where the first window of the m-th pooled value of a model's rows begins."""
    HP: tl.constexpr = (H - K + 1) // 2
    WP: tl.constexpr = (W - K + 1) // 2
    place = m % (HP * WP)
    return ((m // (HP * WP) * H + place // WP * 2) * W + place % WP * 2) * C


@triton.jit
def _product(a, b, total, PRECISION: tl.constexpr):
    return tl.dot(a, b.to(a.dtype), total, input_precision=PRECISION)


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _forward(
    x, weight, bias, out, note, images, positions,
    H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, K: tl.constexpr, F: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    m, o, model = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.program_id(1).to(tl.int64)
    Q: tl.constexpr = K * K * C
    inside, live = m < positions, o < F
    x += model * images * (H * W * C)
    weight += model * Q * F
    corner = _corner(m, H, W, C, K)
    first, second = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    third, fourth = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for start in range(0, Q, BK):
        q = start + tl.arange(0, BK)
        part = tl.load(weight + q[:, None] * F + o[None, :], mask=(q < Q)[:, None] & live[None, :], other=0.0)
        at, mask = x + corner[:, None] + _offset(q, W, C, K)[None, :], inside[:, None] & (q < Q)[None, :]
        first = _product(tl.load(at, mask=mask, other=0.0), part, first, PRECISION)
        second = _product(tl.load(at + C, mask=mask, other=0.0), part, second, PRECISION)
        third = _product(tl.load(at + W * C, mask=mask, other=0.0), part, third, PRECISION)
        fourth = _product(tl.load(at + (W + 1) * C, mask=mask, other=0.0), part, fourth, PRECISION)
    best = _larger(_larger(first, second), _larger(third, fourth))
    which = tl.where(first == best, 0, tl.where(second == best, 1, tl.where(third == best, 2, 3)))
    best += tl.load(bias + model * F + o, mask=live, other=0.0).to(tl.float32)[None, :]
    which = tl.where(best > 0, which, 4)
    at = (model * positions + m)[:, None] * F + o[None, :]
    mask = inside[:, None] & live[None, :]
    tl.store(out + at, _larger(best, 0.0), mask=mask)
    tl.store(note + at, which.to(tl.int8), mask=mask)


@triton.jit
def _weight(
    x, grad, note, out, out_bias, images, positions, parts, SHARE: tl.constexpr,
    H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, K: tl.constexpr, F: tl.constexpr,
    BQ: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One program: a tile of the weight's gradient over one part of the positions; the bias's beside the first tile."""
    part, tile, model = tl.program_id(0) % parts, tl.program_id(0) // parts, tl.program_id(1).to(tl.int64)
    q, o = tile * BQ + tl.arange(0, BQ), tl.arange(0, BN)
    Q: tl.constexpr = K * K * C
    live, last = o < F, tl.minimum((part + 1) * SHARE, positions)
    x += model * images * (H * W * C)
    grad += model * positions * F
    note += model * positions * F
    offset = _offset(q, W, C, K)
    total, bias = tl.zeros((BQ, BN), tl.float32), tl.zeros((BN,), tl.float32)
    for start in range(0, SHARE, BK):
        m = part * SHARE + start + tl.arange(0, BK)
        mask = (m < last)[:, None] & live[None, :]
        g = tl.load(grad + m[:, None] * F + o[None, :], mask=mask, other=0.0)
        which = tl.load(note + m[:, None] * F + o[None, :], mask=mask, other=4)
        at, seen = x + _corner(m, H, W, C, K)[:, None] + offset[None, :], (m < last)[:, None] & (q < Q)[None, :]
        bias += tl.sum(tl.where(which < 4, g, 0.0).to(tl.float32), 0)
        for quarter in tl.static_range(4):
            rows = tl.load(at + (quarter // 2 * W + quarter % 2) * C, mask=seen, other=0.0)
            total = _product(tl.trans(rows), tl.where(which == quarter, g, 0.0), total, PRECISION)
    at = ((model * parts + part) * Q + q)[:, None] * F + o[None, :]
    tl.store(out + at, total, mask=(q < Q)[:, None] & live[None, :])
    if tile == 0:
        tl.store(out_bias + (model * parts + part) * F + o, bias, mask=live)


@triton.jit
def _rows(
    grad, note, weight, out, images, positions,
    H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, K: tl.constexpr, F: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One program: a tile of the rows' gradient: every window that meets a place, and every output of it."""
    m, c = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    o, model = tl.arange(0, BK), tl.program_id(2).to(tl.int64)
    HP: tl.constexpr = (H - K + 1) // 2
    WP: tl.constexpr = (W - K + 1) // 2
    inside, live = m < images * (H * W), c < C
    image, y, z = m // (H * W), m % (H * W) // W, m % W
    grad += model * positions * F
    note += model * positions * F
    weight += model * (K * K * C * F)
    total = tl.zeros((BM, BN), tl.float32)
    for down in range(K):
        for right in tl.static_range(K):
            i, j = y - down, z - right
            met = inside & (i >= 0) & (i < 2 * HP) & (j >= 0) & (j < 2 * WP)
            cell, quarter = ((image * HP + i // 2) * WP + j // 2) * F, i % 2 * 2 + j % 2
            at, mask = cell[:, None] + o[None, :], met[:, None] & (o < F)[None, :]
            which = tl.load(note + at, mask=mask, other=4)
            g = tl.where(which == quarter[:, None], tl.load(grad + at, mask=mask, other=0.0), 0.0)
            part = weight + ((down * K + right) * C + c)[:, None] * F + o[None, :]
            w = tl.load(part, mask=live[:, None] & (o < F)[None, :], other=0.0)
            total = _product(g, tl.trans(w), total, PRECISION)
    at = (model * images * (H * W) + m)[:, None] * C + c[None, :]
    tl.store(out + at, total, mask=inside[:, None] & live[None, :])


def _tile(size: int, most: int) -> int:
    """The smallest power of two from 16 on that holds the size, or the most."""
    return min(most, max(16, 1 << (size - 1).bit_length()))


def _shape(x: Tensor, weight: Tensor) -> tuple[int, int, int, int, int]:
    return x.shape[2], x.shape[3], x.shape[4], weight.shape[1], weight.shape[4]


def forward(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """(pooled rows [n, b, h', w', o], which of its four results each one is)."""
    n, b, h, w, _ = x.shape
    kernel, outputs = weight.shape[1], weight.shape[4]
    out = x.new_empty(n, b, (h - kernel + 1) // 2, (w - kernel + 1) // 2, outputs)
    note, positions = torch.empty_like(out, dtype=torch.int8), out[0, ..., 0].numel()
    _forward[triton.cdiv(positions, 128), n](
        x.contiguous(), weight.contiguous(), bias.contiguous(), out, note, b, positions, *_shape(x, weight),
        128, OUTPUTS, 32, product_precision(),
    )  # fmt: skip
    return out, note


def weight_grad(x: Tensor, weight: Tensor, grad: Tensor, note: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the weight and of the bias."""
    n, b = x.shape[:2]
    outputs, size, positions = weight.shape[4], weight[0, ..., 0].numel(), grad[0, ..., 0].numel()
    tile, depth = (32, 32) if size <= 32 else (64, 64)
    sums = torch.empty(n, PARTS, size, outputs, device=x.device)
    sums_bias = torch.empty(n, PARTS, outputs, device=x.device)
    _weight[triton.cdiv(size, tile) * PARTS, n](
        x.contiguous(), grad.contiguous(), note, sums, sums_bias, b, positions, PARTS, triton.cdiv(positions, PARTS),
        *_shape(x, weight), tile, OUTPUTS, depth, product_precision(),
    )  # fmt: skip
    return sums.sum(1).view(weight.shape).to(weight.dtype), sums_bias.sum(1).to(weight.dtype)


def rows_grad(x: Tensor, weight: Tensor, grad: Tensor, note: Tensor) -> Tensor:
    """The gradient of the rows."""
    n, b, h, w, c = x.shape
    out, positions = torch.empty_like(x, memory_format=torch.contiguous_format), grad[0, ..., 0].numel()
    tile = _tile(c, 64)
    _rows[triton.cdiv(b * h * w, 64), triton.cdiv(c, tile), n](
        grad.contiguous(), note, weight.contiguous(), out, b, positions, *_shape(x, weight),
        64, tile, OUTPUTS, product_precision(),
    )  # fmt: skip
    return out
