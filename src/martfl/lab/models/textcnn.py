"""TextCNN (Kim, 2014): embedding 300, filters over 2, 3 and 4 words, 100 of each, max over time."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.errors import InputError
from martfl.lab.data.base import Dataset
from martfl.lab.models.base import Context, Model, Params, Weight, dense
from martfl.lab.models.layers import linear_many

WIDTH, FILTERS, SPANS = 300, 100, (2, 3, 4)
TAPS = sum(SPANS)


class MaxOverTime(torch.autograd.Function):
    """The largest response of every filter.

    A filter over k words is Σ_j x[t+j]·w_j. `taps` holds all nine products x[t]·w_j, so that one matrix product serves
    the three filter widths, and the sum over j is a sum of shifted slices. taps [..., L, 900] -> [..., 300].
    """

    @staticmethod
    def forward(ctx: Context, taps: Tensor) -> Tensor:
        length, start, best, places = taps.shape[-2], 0, [], []
        for span in SPANS:
            steps = length - span + 1
            total = taps[..., 0:steps, start : start + FILTERS].clone()
            for offset in range(1, span):
                begin = start + offset * FILTERS
                total += taps[..., offset : offset + steps, begin : begin + FILTERS]
            value, place = total.max(dim=-2)
            best.append(value)
            places.append(place)
            start += span * FILTERS
        ctx.shape = taps.shape
        ctx.save_for_backward(*places)
        return torch.cat(best, dim=-1)

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Tensor:
        out, start = grads[0].new_zeros(ctx.shape), 0
        parts = torch.split(grads[0], FILTERS, dim=-1)
        for span, place, part in zip(SPANS, ctx.saved_tensors, parts, strict=True):
            for offset in range(span):
                block = out[..., start : start + FILTERS]
                block.scatter_(-2, (place + offset).unsqueeze(-2), part.unsqueeze(-2))
                start += FILTERS
        return out


class Responses(torch.autograd.Function):
    """The same straight from token numbers, for one model: every distinct word of the rows meets the filters once.

    A batch names a word several times and is padded besides, so this takes a fraction of the products. Shapes depend on
    the rows, which a captured graph does not allow. table [v, 300], weight [300, 900], x [b, L] -> [b, 300].
    """

    @staticmethod
    def forward(ctx: Context, table: Tensor, weight: Tensor, x: Tensor) -> Tensor:
        words, numbers = torch.unique(_trim(x), return_inverse=True)  # [u], [b, L]
        rows = table[words] * (words != 0).unsqueeze(-1)  # padding stays zero and never learns
        taps, length = rows @ weight, numbers.shape[1]  # [u, 900]
        start, best, places = 0, [], []
        for span in SPANS:
            steps = length - span + 1
            blocks = torch.split(taps[:, start : start + span * FILTERS], FILTERS, dim=1)
            total = blocks[0][numbers[:, :steps]]
            for offset in range(1, span):
                total += blocks[offset][numbers[:, offset : offset + steps]]
            value, place = total.max(dim=1)
            best.append(value)
            places.append(place)
            start += span * FILTERS
        ctx.vocabulary = len(table)
        ctx.save_for_backward(words, numbers, rows, weight, *places)
        return torch.cat(best, dim=1)

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        words, numbers, rows, weight, *places = ctx.saved_tensors
        taps, start = grads[0].new_zeros(len(words), weight.shape[1]), 0
        for span, place, part in zip(SPANS, places, torch.split(grads[0], FILTERS, dim=1), strict=True):
            for offset in range(span):
                block = taps[:, start : start + FILTERS]
                block.scatter_add_(0, numbers.gather(1, place + offset), part)
                start += FILTERS
        table = rows.new_zeros(ctx.vocabulary, rows.shape[1])
        table[words] = (taps @ weight.t()) * (words != 0).unsqueeze(-1)
        return table, rows.t() @ taps, None


def _trim(x: Tensor) -> Tensor:
    """Without the columns that are padding in every row, but for one window of it, which answers with the bias."""
    used = (x != 0).any(dim=0).nonzero()
    longest = int(used.max()) + 1 if len(used) else 0
    return x[:, : longest + max(SPANS)]


def _one(params: Params, x: Tensor) -> Tensor:
    table, weight, bias, head, head_bias = params
    best: Tensor = Responses.apply(table, weight, x)  # type: ignore[no-untyped-call]
    return torch.addmm(head_bias, F.relu(best + bias), head)


def _many(params: Params, x: Tensor) -> Tensor:
    table, weight, bias, head, head_bias = params
    n, b, length = x.shape
    first = torch.arange(n, device=x.device, dtype=x.dtype).mul_(table.shape[1]).view(n, 1, 1)
    rows = F.embedding(x + first, table.flatten(0, 1)) * (x != 0).unsqueeze(-1)  # [n, b, L, 300]
    taps = torch.bmm(rows.flatten(1, 2), weight).view(n, b, length, -1)
    best: Tensor = MaxOverTime.apply(taps)  # type: ignore[no-untyped-call]
    return linear_many(F.relu(best + bias.unsqueeze(1)), head, head_bias)


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
    return Model("textcnn", weights, one=_one, many=_many, activation_floats=floats, table=True)
