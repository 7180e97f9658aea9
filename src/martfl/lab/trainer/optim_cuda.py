"""A step of SGD or Adam in one pass over a stacked tensor, for GPUs; who is done is passed over."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024


@triton.jit
def _step(
    weight, grad, first, second, start, rounded, rate, pull, epsilon, size, momentum, beta,
    ADAM: tl.constexpr, PULLED: tl.constexpr, ROUNDED: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    client, place = tl.program_id(1).to(tl.int64), tl.program_id(0) * N + tl.arange(0, N)
    speed = tl.load(rate + client)
    if speed != 0:
        inside, at = place < size, client * size + place
        w, g = tl.load(weight + at, mask=inside), tl.load(grad + at, mask=inside).to(tl.float32)
        if PULLED:
            g += tl.load(pull + client) * (w - tl.load(start + at, mask=inside))
        m = tl.load(first + at, mask=inside)
        if ADAM:
            m += (g - m) * (1 - momentum)
            v = tl.load(second + at, mask=inside) * beta + (1 - beta) * g * g
            tl.store(second + at, v, mask=inside)
            w -= speed * m / (tl.sqrt(v) + tl.load(epsilon))
        else:
            m = momentum * m + g
            w -= speed * m
        tl.store(first + at, m, mask=inside)
        tl.store(weight + at, w, mask=inside)
        if ROUNDED:
            tl.store(rounded + at, w, mask=inside)


def apply(
    weight: Tensor,
    grad: Tensor,
    first: Tensor,
    second: Tensor | None,
    rate: Tensor,
    epsilon: Tensor,
    *,
    momentum: float,
    beta: float,
    start: Tensor,
    pull: Tensor | None,
    rounded: Tensor | None,
) -> None:
    """One step in place of [k, …], and of a rounded copy where there is one; with `second` it is Adam's.

    `rate` and `pull` have one number a client.
    """
    size = weight[0].numel()
    _step[triton.cdiv(size, BLOCK), len(weight)](
        weight, grad.contiguous(), first, first if second is None else second, start,
        weight if rounded is None else rounded, rate, rate if pull is None else pull, epsilon, size, momentum, beta,
        second is not None, pull is not None, rounded is not None, BLOCK,
    )  # fmt: skip
