"""A client's embedding table cut to the words that it has.

A row of the table that no text of a client names gets no gradient, and neither SGD with momentum nor Adam moves a
weight whose gradients were all zero. So each client trains a table of its own words alone, a seventh of the vocabulary
on TREC, and its full update is zero everywhere else: the same result for a fraction of the memory traffic.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from martfl.lab.models import Model
from martfl.lab.trainer.base import Shards


@dataclass(frozen=True)
class Compact:
    """The words of each client, and the rows rewritten in their numbers."""

    shards: Shards
    words: Tensor  # [n, v] full token numbers by local number; 0 fills the shorter lists

    def cut(self, model: Model, flat: Tensor) -> list[Tensor]:
        """The weights each client starts from, contiguous [n, ...]."""
        table, *rest = model.split(flat)
        clients = len(self.words)
        return [table[self.words], *(part.expand(clients, *part.shape).contiguous() for part in rest)]

    def widen(self, model: Model, changes: list[Tensor]) -> Tensor:
        """Updates of the cut tables as full updates [n, m]."""
        clients, (vocabulary, width) = len(self.words), model.weights[0].shape
        out = changes[0].new_zeros(clients, model.size)
        first = torch.arange(clients, device=out.device).mul_(vocabulary).unsqueeze(1)
        table = out.new_zeros(clients * vocabulary, width)
        # Local numbers beyond a client's words all name padding, whose change is zero: equal writes, no race.
        table.index_copy_(0, (self.words + first).flatten(), changes[0].flatten(0, 1))
        out[:, : vocabulary * width] = table.view(clients, -1)
        out[:, vocabulary * width :] = torch.cat([part.flatten(1) for part in changes[1:]], dim=1)
        return out


def make_compact(shards: Shards) -> Compact:
    """Number the words of each client anew; padding stays 0."""
    tokens = shards.x.cpu().numpy()
    local, lists = np.zeros_like(tokens), []
    for begin, end in zip(shards.offsets[:-1], shards.offsets[1:], strict=True):
        found = np.unique(np.append(tokens[begin:end], 0))  # sorted, so padding comes first
        local[begin:end] = np.searchsorted(found, tokens[begin:end])
        lists.append(found)
    words = np.zeros((len(lists), max(map(len, lists))), dtype=np.int64)
    for row, found in zip(words, lists, strict=True):
        row[: len(found)] = found
    device = shards.x.device
    renumbered = dataclasses.replace(shards, x=torch.from_numpy(local).to(device))
    return Compact(renumbered, torch.from_numpy(words).to(device))
