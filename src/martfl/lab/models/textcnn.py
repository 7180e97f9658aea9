"""TextCNN (Kim, 2014): embedding 300, filters over 2, 3 and 4 words, 100 of each, max over time.

A filter over k words is Σ_j x[t+j]·w_j. A batch names a word many times and is padded besides, so that every distinct
word meets all nine w_j once, in one matrix product (its *taps*); a filter's response is then a sum of looked-up taps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.errors import InputError
from martfl.lab.data.base import Dataset
from martfl.lab.models.base import Context, Inputs, Model, Params, Weight, dense
from martfl.lab.models.kernels import kernels_for
from martfl.lab.models.layers import linear_many

WIDTH, FILTERS, SPANS = 300, 100, (2, 3, 4)
TAPS = sum(SPANS)
AT_ONCE = 512  # words whose taps fit into a processor's cache
GRAIN = 128  # the number of distinct words is filled up to a multiple of it, so that few sizes occur
KERNELS = "martfl.lab.models.textcnn_cuda"


@dataclass(frozen=True)
class Said:
    """A text with open places, all next to each other, for one word."""

    row: Tensor  # [L] tokens; what stands at the open places does not matter
    place: int
    times: int


def lay_out(x: Tensor) -> Inputs:
    """Rows by their distinct words: [..., b, L] tokens, of which 0 pads the end of a row, to

    words [..., 3, u]: the distinct words, padding first and zeros last, and where each begins and ends in `order`;
    numbers [..., b, L]: the place of every token among the words; lengths [..., b];
    order [..., b·L]: the places of the tokens, sorted by word.
    """
    tokens = x.flatten(-2).flatten(0, -2).int()  # [s, b·L]
    ordered, order = torch.sort(tokens, dim=1, stable=True)
    fresh = ordered != 0
    fresh[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    number = fresh.cumsum(1)  # [s, b·L]: padding has 0
    count = int(number[:, -1].max()) + 1
    width = -(-count // GRAIN) * GRAIN if x.is_cuda else count
    every = torch.arange(width, device=x.device).expand(len(tokens), -1).contiguous()
    begins, ends = (torch.searchsorted(number, every, right=right) for right in (False, True))
    words = torch.stack([torch.zeros_like(every).scatter_(1, number, ordered.long()), begins, ends], dim=1)
    words[:, 1:, 0] = 0  # nothing is learnt from padding
    numbers = torch.empty_like(number).scatter_(1, order, number)
    parts = (words, numbers.view(-1, *x.shape[-2:]), (x != 0).sum(-1).view(-1, x.shape[-2]), order)
    return tuple(part.int().view(*x.shape[:-2], *part.shape[1:]) for part in parts)


class WordRows(torch.autograd.Function):
    """The words' rows of each model's table: table [n, v, 300], words [n, u] -> [n, u, 300].

    No word stands twice in a list but padding, whose gradient is zero: the backward pass writes, it adds up nothing.
    """

    @staticmethod
    def forward(ctx: Context, table: Tensor, words: Tensor) -> Tensor:
        n, v, width = table.shape
        places = (words + torch.arange(n, device=words.device).mul_(v).unsqueeze(1)).flatten()
        ctx.save_for_backward(places)
        ctx.shape = table.shape
        return table.flatten(0, 1)[places].view(n, -1, width)

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> tuple[Tensor, None]:
        table = grads[0].new_zeros(ctx.shape)
        table.flatten(0, 1).index_copy_(0, ctx.saved_tensors[0], grads[0].flatten(0, 1))
        return table, None


class Answers(torch.autograd.Function):
    """The largest response of every filter: taps [n, u, 900] of the words -> [n, b, 300]."""

    @staticmethod
    def forward(ctx: Context, taps: Tensor, words: Tensor, numbers: Tensor, lengths: Tensor, order: Tensor) -> Tensor:
        kernels = kernels_for(taps, KERNELS)
        if kernels is None and not ctx.needs_input_grad[0]:
            return _largest(taps, numbers)
        best, places = kernels.answer(taps, numbers, lengths) if kernels else _answer(taps, numbers)
        ctx.save_for_backward(places, words, numbers, order)
        ctx.width = taps.shape[1]
        return best

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> tuple[Tensor, None, None, None, None]:
        places, words, numbers, order = ctx.saved_tensors
        kernels = kernels_for(places, KERNELS)
        if kernels:
            taps = kernels.spread(grads[0], places, words, order, numbers.shape[-1])
        else:
            taps = _spread(grads[0], places, numbers, ctx.width)
        return taps, None, None, None, None


def _answer(taps: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
    """(the largest responses, where each window begins), both [n, b, 300]."""
    flat, at = taps.flatten(0, 1), _places(numbers, taps.shape[1])
    start, best, places, length = 0, [], [], at.shape[2]
    for span in SPANS:
        steps = length - span + 1
        blocks = torch.split(flat[:, start : start + span * FILTERS], FILTERS, dim=1)
        total = blocks[0][at[..., :steps]]
        for offset in range(1, span):
            total += blocks[offset][at[..., offset : offset + steps]]
        value, place = total.max(dim=2)
        best.append(value)
        places.append(place)
        start += span * FILTERS
    return torch.cat(best, dim=-1), torch.cat(places, dim=-1)


def _largest(taps: Tensor, numbers: Tensor) -> Tensor:
    """The largest responses alone, as `_answer` has them, several times as fast."""
    blocks, at = taps.reshape(-1, FILTERS), _places(numbers, taps.shape[1]) * TAPS
    start, best = 0, []
    for span in SPANS:
        windows = at.unfold(2, span, 1) + torch.arange(start, start + span, device=at.device)  # [n, b, steps, span]
        total = F.embedding_bag(windows.reshape(-1, span), blocks, mode="sum")
        best.append(total.view(*windows.shape[:3], FILTERS).amax(dim=2))
        start += span
    return torch.cat(best, dim=-1)


def _places(numbers: Tensor, width: int) -> Tensor:
    """[n, b, L'] of every token's word among all models' words; beyond all rows one window of padding is enough."""
    used = numbers.flatten(0, 1).any(dim=0).nonzero()
    length = min(numbers.shape[2], (int(used.max()) + 1 if len(used) else 0) + max(SPANS))
    return numbers[..., :length] + torch.arange(len(numbers), device=numbers.device).mul_(width).view(-1, 1, 1)


def _spread(grad: Tensor, places: Tensor, numbers: Tensor, width: int) -> Tensor:
    """The gradient of the taps: each response's goes to the taps of its window's words."""
    out, start = grad.new_zeros(len(grad), width, TAPS * FILTERS), 0
    parts, windows = (torch.split(part, FILTERS, dim=-1) for part in (grad, places))
    for span, part, place in zip(SPANS, parts, windows, strict=True):
        for offset in range(span):
            block = out[..., start : start + FILTERS]
            block.scatter_add_(1, numbers.long().gather(2, place + offset), part)
            start += FILTERS
    return out


def _stacked(params: Params, inputs: Inputs) -> Tensor:
    table, weight, bias, head, head_bias = params
    words, numbers, lengths, order = inputs
    rows: Tensor = WordRows.apply(table, words[:, 0])  # type: ignore[no-untyped-call]
    if kernels_for(table, KERNELS) is None:  # kernels pass padding over; elsewhere it must answer with nothing
        rows = rows * (words[:, 0] != 0).unsqueeze(-1)
    taps = torch.bmm(rows, weight)  # [n, u, 900]
    best: Tensor = Answers.apply(taps, words, numbers, lengths, order)  # type: ignore[no-untyped-call]
    return linear_many(F.relu(best + bias.unsqueeze(1)), head, head_bias)


def _one(params: Params, x: Tensor) -> Tensor:
    return _stacked([part.unsqueeze(0) for part in params], lay_out(x.unsqueeze(0)))[0]


def to_words(params: Params, texts: Sequence[Said]) -> Tensor:
    """[v − 1, texts, c] the answers to texts, each with every word in turn at its open places; 0 pads and is no word.

    A filter's response to a window is what its other words say, the same for all, and the taps of the word at its
    places there; windows without the word are alike for all.
    """
    table, weight, bias, head, head_bias = params
    blocks = torch.split(weight, FILTERS, dim=1)  # of the nine taps
    rests = [_rest(table, blocks, text) for text in texts]
    found = []
    for words in torch.split(table[1:], len(table) if table.is_cuda else AT_ONCE):
        taps = [words @ block for block in blocks]
        best = [torch.cat([_strongest(taps, first, kinds) for first, kinds in rest], dim=1) for rest in rests]
        found.append(torch.stack([F.relu(one + bias) @ head + head_bias for one in best], dim=1))
    return torch.cat(found)


Windows = dict[tuple[int, ...], Tensor]  # by where the word stands in them: the largest response of the rest [100]


def _rest(table: Tensor, blocks: Sequence[Tensor], text: Said) -> list[tuple[int, Windows]]:
    """For each span its first tap, and what the windows of a text say without the word."""
    rows = table[text.row] * (text.row != 0).unsqueeze(1)
    rows[text.place : text.place + text.times] = 0.0
    found, first = [], 0
    for span in SPANS:
        steps = len(rows) - span + 1
        said = torch.stack([rows[o : o + steps] @ blocks[first + o] for o in range(span)]).sum(dim=0)  # [steps, 100]
        kinds: dict[tuple[int, ...], list[int]] = {}
        for at in range(steps):
            here = tuple(o for o in range(span) if text.place <= at + o < text.place + text.times)
            kinds.setdefault(here, []).append(at)
        found.append((first, {here: said[windows].amax(dim=0) for here, windows in kinds.items()}))
        first += span
    return found


def _strongest(taps: Sequence[Tensor], first: int, windows: Windows) -> Tensor:
    """[w, 100] the largest response of a span's filters to a text with each word in it."""
    best = torch.full_like(taps[0], -math.inf)
    for here, rest in windows.items():
        total = rest.expand_as(best)
        for offset in here:
            total = total + taps[first + offset]
        torch.maximum(best, total, out=best)
    return best


def textcnn(dataset: Dataset) -> Model:
    """About 2.9 million parameters on TREC."""
    if dataset.kind != "text":
        raise InputError(f"model textcnn reads texts; dataset {dataset.name} has {dataset.kind}")
    length = dataset.train_x.shape[1]
    if length < max(SPANS):
        raise InputError(f"model textcnn needs texts of at least {max(SPANS)} tokens, got {length}")
    bound = 1 / math.sqrt(3 * WIDTH)
    weights = (
        Weight("embedding", (dataset.vocabulary, WIDTH), normal=1.0),
        Weight("filters.weight", (WIDTH, TAPS * FILTERS), bound),
        Weight("filters.bias", (len(SPANS) * FILTERS,), bound),
        *dense("fc", len(SPANS) * FILTERS, dataset.num_classes),
    )
    floats = length * (2 * WIDTH + 4 * TAPS * FILTERS)
    return Model("textcnn", weights, one=_one, stacked=_stacked, activation_floats=floats, table=True, lay_out=lay_out)
