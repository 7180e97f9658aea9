"""Responses of text filters and their gradients, a kernel each, for GPUs.

The gradient of a word's taps is summed over the word's occurrences in a fixed order, so that a run repeats bit for bit.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

NOWHERE = -9  # a window of padding: no word learns from it
SHORTEST, FILTERS, FILTER_LANES = 2, 100, 128
ALL_FILTERS, TAPS, TAP_LANES = 300, 900, 1024
SECOND, THIRD = 200, 500  # where the taps of the second and third span begin


@triton.jit
def _answer(
    taps, numbers, lengths, best, places, width, rows, tokens,
    SHORT: tl.constexpr, F: tl.constexpr, LANES: tl.constexpr, ALL: tl.constexpr, COLUMNS: tl.constexpr,
    NONE: tl.constexpr,
):  # fmt: skip
    """One program: a row's responses to the filters of one span."""
    row, kind = tl.program_id(0).to(tl.int64), tl.program_id(1)
    span, f = SHORT + kind, tl.arange(0, LANES)
    live = f < F
    taps += row // rows * width * COLUMNS + F * (kind * (kind + 3) // 2) + f
    length = tl.load(lengths + row)
    words = numbers + row * tokens
    padded = tl.where(length + span <= tokens, 0.0, float("-inf"))
    top = tl.full((LANES,), 0.0, tl.float32) + padded
    place = tl.full((LANES,), NONE, tl.int32)
    for t in range(tl.minimum(length, tokens - span + 1)):
        total = tl.zeros((LANES,), tl.float32)
        for j in tl.static_range(4):
            inside = (j < span) & (t + j < length)
            word = tl.load(words + t + j, mask=inside, other=0)
            total += tl.load(taps + word * COLUMNS + j * F, mask=live & inside, other=0.0).to(tl.float32)
        better = (total > top) | (total != total)
        top, place = tl.where(better, total, top), tl.where(better, t, place)
    at = row * ALL + kind * F + f
    tl.store(best + at, top, mask=live)
    tl.store(places + at, place, mask=live)


@triton.jit
def _spread(
    grad, places, words, order, out, width, rows, tokens,
    F: tl.constexpr, LANES: tl.constexpr, ALL: tl.constexpr, COLUMNS: tl.constexpr, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """One program: the gradient of a word's taps, over its occurrences in their order."""
    word, model = tl.program_id(0), tl.program_id(1).to(tl.int64)
    lane = tl.arange(0, LANES)
    live = lane < COLUMNS
    kind = (lane >= B).to(tl.int32) + (lane >= C).to(tl.int32)
    within = lane - tl.where(kind == 0, 0, tl.where(kind == 1, B, C))
    offset, f = within // F, kind * F + within % F
    spans = words + model * 3 * width + word
    total = tl.zeros((LANES,), tl.float32)
    for i in range(tl.load(spans + width), tl.load(spans + 2 * width)):
        at = tl.load(order + model * rows * tokens + i)
        row, t = at // tokens, at % tokens
        response = (model * rows + row) * ALL + f
        hit = tl.load(places + response, mask=live, other=-1) == t - offset
        total += tl.load(grad + response, mask=live & hit & (t >= offset), other=0.0).to(tl.float32)
    tl.store(out + (model * width + word) * COLUMNS + lane, total, mask=live)


def answer(taps: Tensor, numbers: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """(the largest responses, where each window begins), both [n, b, 300]."""
    n, b, tokens = numbers.shape
    best, places = taps.new_empty(n, b, ALL_FILTERS), numbers.new_empty(n, b, ALL_FILTERS)
    _answer[n * b, ALL_FILTERS // FILTERS](
        taps.contiguous(), numbers.contiguous(), lengths.contiguous(), best, places, taps.shape[1], b, tokens,
        SHORTEST, FILTERS, FILTER_LANES, ALL_FILTERS, TAPS, NOWHERE,
    )  # fmt: skip
    return best, places


def spread(grad: Tensor, places: Tensor, words: Tensor, order: Tensor, tokens: int) -> Tensor:
    """The gradient of the taps [n, u, 900]."""
    n, b, _ = grad.shape
    width = words.shape[-1]
    out = torch.empty(n, width, TAPS, dtype=grad.dtype, device=grad.device)
    _spread[width, n](
        grad.contiguous(), places, words.contiguous(), order.contiguous(), out, width, b, tokens,
        FILTERS, TAP_LANES, ALL_FILTERS, TAPS, SECOND, THIRD,
    )  # fmt: skip
    return out
