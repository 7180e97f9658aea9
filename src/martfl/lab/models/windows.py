"""Images cut into windows and put together again: the patches of a convolution, the 2 × 2 blocks of a pooling layer.

Rows are [n, b, h, w, c]. `windows_cuda` does the same in one kernel each.
"""

from __future__ import annotations

import torch
from torch import Tensor


def filled_up(size: int, element_bytes: int = 4) -> int:
    """The next size that takes whole 16 bytes."""
    unit = 16 // element_bytes
    return -(-size // unit) * unit


def cut(x: Tensor, kernel: int) -> Tensor:
    """[n, b, h, w, c] -> [n, b·h'·w', k·k·c and zeros]: every k × k patch."""
    n, b, h, w, c = x.shape
    high, wide, size = h - kernel + 1, w - kernel + 1, kernel * kernel * c
    view = x.unfold(2, kernel, 1).unfold(3, kernel, 1).permute(0, 1, 2, 3, 5, 6, 4)  # [n, b, h', w', k, k, c]
    out = x.new_zeros(n, b * high * wide, filled_up(size, x.element_size()))
    out[..., :size].view(view.shape).copy_(view)
    return out


def join(patches: Tensor, shape: torch.Size, kernel: int) -> Tensor:
    """The adjoint of `cut`: every value is the sum of its places in the patches, in a fixed order."""
    n, b, h, w, c = shape
    high, wide = h - kernel + 1, w - kernel + 1
    pieces = patches[..., : kernel * kernel * c].view(n, b, high, wide, kernel, kernel, c)
    out = patches.new_zeros(shape)
    for i in range(kernel):
        for j in range(kernel):
            out[:, :, i : i + high, j : j + wide] += pieces[:, :, :, :, i, j]
    return out


def pool(x: Tensor) -> Tensor:
    """The largest of each 2 × 2 block, or 0 where that is negative: [n, b, h, w, c] -> [n, b, h/2, w/2, c]."""
    return _blocks(x).amax(dim=(3, 5)).clamp(min=0)


def unpool(grad: Tensor, x: Tensor, pooled: Tensor) -> Tensor:
    """The gradient of `pool`'s rows: it goes to the first largest value of a block, if that is positive."""
    h, w = x.shape[2:4]
    blocks, free = _blocks(x), pooled > 0  # where the gradient still has to be placed
    out = torch.zeros_like(x)
    for i in range(2):
        for j in range(2):
            hit = free & (blocks[:, :, :, i, :, j] == pooled)
            out[:, :, i : h // 2 * 2 : 2, j : w // 2 * 2 : 2] = grad * hit
            free = free & ~hit
    return out


def _blocks(x: Tensor) -> Tensor:
    n, b, h, w, c = x.shape
    return x[:, :, : h // 2 * 2, : w // 2 * 2].reshape(n, b, h // 2, 2, w // 2, 2, c)
