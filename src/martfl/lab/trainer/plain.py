"""The reference: torch.nn modules and torch.optim, one client after another, one batch after another.

It shares nothing with the other trainers but the batches, so the tests hold them against it and the benchmark runs
it beside them.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from martfl.lab.data import Dataset
from martfl.lab.models import Model
from martfl.lab.models.textcnn import FILTERS, SPANS, WIDTH
from martfl.lab.trainer.base import LocalTraining, Plan, Shards


class ImageNet(nn.Module):
    """Convolutions with pooling, then linear layers."""

    def __init__(self, model: Model, dataset: Dataset) -> None:
        super().__init__()
        shapes = [weight.shape for weight in model.weights[::2]]
        self.convs = nn.ModuleList(nn.Conv2d(s[2], s[3], s[0]) for s in shapes if len(s) == 4)
        self.linears = nn.ModuleList(nn.Linear(s[0], s[1]) for s in shapes if len(s) == 2)
        self.image = dataset.kind == "image"
        self.register_buffer("mean", torch.tensor(dataset.mean).view(1, -1, 1, 1))
        self.register_buffer("deviation", torch.tensor(dataset.deviation).view(1, -1, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        if self.image:
            x = (x.permute(0, 3, 1, 2).float() / 255 - self.get_buffer("mean")) / self.get_buffer("deviation")
        for layer in self.convs:
            x = F.max_pool2d(F.relu(layer(x)), 2)
        x = x.flatten(1) if x.dim() == 2 else x.permute(0, 2, 3, 1).flatten(1)
        for layer in list(self.linears)[:-1]:
            x = F.relu(layer(x))
        logits: Tensor = self.linears[-1](x)
        return logits


class TextNet(nn.Module):
    """Embedding, three one-dimensional convolutions, max over time, one linear layer."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        vocabulary, width = model.weights[0].shape
        self.table = nn.Embedding(vocabulary, width, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(WIDTH, FILTERS, span) for span in SPANS)
        self.head = nn.Linear(len(SPANS) * FILTERS, model.weights[-1].shape[0])

    def forward(self, x: Tensor) -> Tensor:
        rows = (self.table(x) * (x != 0).unsqueeze(-1)).transpose(1, 2)
        logits: Tensor = self.head(torch.cat([F.relu(layer(rows)).amax(dim=2) for layer in self.convs], dim=1))
        return logits


class CharNet(nn.Module):
    """Embedding, LSTM layers, one linear layer on the last state."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        (vocabulary, width), (hidden, classes) = model.weights[0].shape, model.weights[-2].shape
        self.table = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, num_layers=(len(model.weights) - 3) // 3, batch_first=True)
        self.head = nn.Linear(hidden, classes)
        for name, part in self.lstm.named_parameters():
            if name.startswith("bias_hh"):  # torch has two biases, of which the sum counts
                part.requires_grad_(False).zero_()

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.lstm(self.table(x))[0][:, -1])
        return logits

    def tensors(self) -> list[Tensor]:
        """In the layout of the flat vector; torch orders the gates i, f, g, o."""
        found: list[Tensor] = [self.table.weight]
        for k in range(self.lstm.num_layers):
            parts = [getattr(self.lstm, f"{kind}_l{k}") for kind in ("weight_ih", "weight_hh", "bias_ih")]
            turned = [torch.cat([part.chunk(4)[i] for i in (0, 1, 3, 2)]) for part in parts]
            found += [turned[0].t(), turned[1].t(), turned[2]]
        return [*found, self.head.weight.t(), self.head.bias]

    @torch.no_grad()
    def load(self, parts: list[Tensor]) -> None:
        """Write parameters in the layout of the flat vector into the module."""
        self.table.weight.copy_(parts[0])
        self.head.weight.copy_(parts[-2].t())
        self.head.bias.copy_(parts[-1])
        for number, part in enumerate(parts[1:-2]):
            kind = ("weight_ih", "weight_hh", "bias_ih")[number % 3]
            rows = part.t() if part.dim() == 2 else part
            i, f, o, g = rows.chunk(4)
            getattr(self.lstm, f"{kind}_l{number // 3}").copy_(torch.cat([i, f, g, o]))


def _tensors(module: nn.Module) -> list[Tensor]:
    """The module's parameters as views in the layout of the flat vector."""
    if isinstance(module, CharNet):
        return module.tensors()
    if isinstance(module, TextNet):
        taps = [layer.weight.permute(2, 1, 0) for layer in module.convs if isinstance(layer, nn.Conv1d)]  # [k, in, out]
        filters = torch.cat([tap for span in taps for tap in span], dim=1)
        biases = torch.cat([layer.bias for layer in module.convs if isinstance(layer, nn.Conv1d)])  # type: ignore[misc]
        return [module.table.weight, filters, biases, module.head.weight.t(), module.head.bias]
    assert isinstance(module, ImageNet)
    found: list[Tensor] = []
    for layer in (*module.convs, *module.linears):
        assert isinstance(layer, (nn.Conv2d, nn.Linear)) and layer.bias is not None
        weight = layer.weight.permute(2, 3, 1, 0) if isinstance(layer, nn.Conv2d) else layer.weight.t()
        found += [weight, layer.bias]
    return found


@torch.no_grad()
def load_flat(module: nn.Module, model: Model, flat: Tensor) -> None:
    """Write a flat vector into a module."""
    parts = model.split(flat)
    if isinstance(module, CharNet):
        module.load(parts)
        return
    if isinstance(module, TextNet):
        module.table.weight.copy_(parts[0])
        for number, (layer, block) in enumerate(
            zip(module.convs, torch.split(parts[1], [span * FILTERS for span in SPANS], dim=1), strict=True)
        ):
            assert isinstance(layer, nn.Conv1d) and layer.bias is not None
            layer.weight.copy_(block.view(WIDTH, -1, FILTERS).permute(2, 0, 1))
            layer.bias.copy_(parts[2][number * FILTERS : (number + 1) * FILTERS])
        module.head.weight.copy_(parts[3].t())
        module.head.bias.copy_(parts[4])
        return
    for target, part in zip(_tensors(module), parts, strict=True):
        target.copy_(part)  # permuted views write through


def make_module(model: Model, dataset: Dataset) -> nn.Module:
    """The architecture as an ordinary module."""
    if model.name == "char-lstm":
        return CharNet(model)
    return TextNet(model) if model.table else ImageNet(model, dataset)


class PlainTrainer:
    """A plain loop over clients."""

    def __init__(self, model: Model, dataset: Dataset, shards: Shards, local: LocalTraining) -> None:
        self.model, self.shards, self.local = model, shards, local
        self.template = make_module(model, dataset).to(shards.x.device)

    def train(self, model: Tensor, plan: Plan) -> Tensor:
        """[m] -> [n, m]."""
        return torch.stack([self._client(model, plan, client) for client in range(self.shards.clients)])

    def _client(self, flat: Tensor, plan: Plan, client: int) -> Tensor:
        module = copy.deepcopy(self.template)
        load_flat(module, self.model, flat)
        rate = self.local.learning_rate
        trained = [part for part in module.parameters() if part.requires_grad]
        optimizer: torch.optim.Optimizer
        if self.local.optimizer == "sgd":
            optimizer = torch.optim.SGD(trained, lr=rate, momentum=self.local.momentum)
        else:
            optimizer = torch.optim.Adam(trained, lr=rate)
        for step in range(int(plan.steps[client])):
            filled = int(np.count_nonzero(plan.weights[step, client]))
            rows = torch.from_numpy(plan.rows[step, client, :filled]).to(flat.device)
            optimizer.zero_grad()
            loss = F.cross_entropy(module(self.shards.x[rows]), self.shards.y[rows])
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        return torch.cat([part.detach().flatten() for part in _tensors(module)]) - flat
