"""All clients of a round as one batch: stacked weights, batched products, on CUDA one captured graph a step.

Clients are sorted by their number of steps. Those that are done early drop out at the end of the batch: a step runs
over the first k clients, k rounded up to one of a few sizes so that few graphs are captured; within a step a client
that is done has rate 0. When the clients would not fit into the memory cap, they train in several batches.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.lab.models import Model
from martfl.lab.models.base import Inputs
from martfl.lab.trainer.base import LocalTraining, Plan, Shards
from martfl.lab.trainer.compact import Compact, make_compact
from martfl.lab.trainer.optim import Moments, Pull, apply_step, factors, make_moments

Sizes = tuple[tuple[int, ...], ...]

WARM_UP = 3  # runs on a side stream before a capture, as CUDA graphs ask for


def group_sizes(clients: int, client_bytes: int, cap: int) -> list[int]:
    """Clients per batch: as even as possible, as few batches as the cap allows, at least one client in each."""
    fits = max(1, cap // max(1, client_bytes))
    groups = math.ceil(clients / fits)
    return [len(part) for part in np.array_split(np.arange(clients), groups)]


class Group:
    """Buffers of one batch of clients, and the step that runs on them."""

    def __init__(
        self, model: Model, words: Tensor | None, local: LocalTraining, clients: int, device: torch.device
    ) -> None:
        self.model, self.local, self.clients = model, local, clients
        shapes = [list(weight.shape) for weight in model.weights]
        if words is not None:
            shapes[0][0] = words.shape[1]
        self.leaves = [torch.zeros(clients, *shape, device=device) for shape in shapes]
        self.start = [torch.zeros_like(leaf) for leaf in self.leaves]
        self.rounded = [leaf.bfloat16() for leaf in self.leaves] if local.precision == "bf16" else None
        self.moments: Moments = make_moments(self.leaves, local)
        self.labels = torch.zeros(clients, local.batch, dtype=torch.int64, device=device)
        self.weights = torch.zeros(clients, local.batch, device=device)
        self.rate = torch.zeros(clients, device=device)
        self.epsilon = torch.full((), 1.0, device=device)
        self.pull = torch.zeros(clients, device=device)  # 2·(1 − α) of attackers that stay near the global model
        self.inputs: dict[Sizes, Inputs] = {}
        self.graphs: dict[tuple[int, bool, Sizes], torch.cuda.CUDAGraph] = {}
        self.pool = torch.cuda.graph_pool_handle() if device.type == "cuda" else None

    def load(self, leaves: list[Tensor], pull: Tensor) -> None:
        """Begin a round from these weights."""
        torch._foreach_copy_(self.leaves, leaves)
        torch._foreach_copy_(self.start, leaves)
        if self.rounded is not None:
            torch._foreach_copy_(self.rounded, leaves)
        self.pull.copy_(pull)
        self.moments.clear()

    def prepare(self, schedule: Schedule, pulled: bool) -> None:
        """Buffers for the round's rows and, on a GPU, its steps as graphs; weights must be loaded afterwards."""
        sizes = schedule.sizes
        if sizes not in self.inputs:
            self.inputs[sizes] = tuple(torch.zeros_like(part[0]) for part in schedule.inputs)
        for k in sorted(set(schedule.active), reverse=True):
            if self.pool is not None and (k, pulled, sizes) not in self.graphs:
                self._capture(k, pulled, sizes)

    def _step(self, k: int, pulled: bool, sizes: Sizes) -> None:
        used = [leaf[:k].detach().requires_grad_() for leaf in self.rounded or self.leaves]
        inputs = tuple(part[:k] for part in self.inputs[sizes])
        logits = self.model.stacked(used, inputs).float()  # [k, b, c]
        losses = F.cross_entropy(logits.flatten(0, 1), self.labels[:k].flatten(), reduction="none")
        grads = list(torch.autograd.grad((losses * self.weights[:k].flatten()).sum(), used))
        pull = Pull([leaf[:k] for leaf in self.start], self.pull[:k]) if pulled else None
        moments = Moments([t[:k] for t in self.moments.first], [t[:k] for t in self.moments.second])
        leaves, rounded = [leaf[:k] for leaf in self.leaves], [copy[:k] for copy in self.rounded or ()]
        apply_step(leaves, grads, moments, self.local, self.rate[:k], self.epsilon, pull, rounded)

    def _capture(self, k: int, pulled: bool, sizes: Sizes) -> None:
        """Record the step over the first k clients."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self._step(k, pulled, sizes)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            self._step(k, pulled, sizes)
        self.graphs[k, pulled, sizes] = graph

    def run(self, schedule: Schedule, step: int, pulled: bool) -> None:
        """One step, replayed where it was captured."""
        k, sizes = schedule.active[step], schedule.sizes
        for buffer, part in zip(self.inputs[sizes], schedule.inputs, strict=True):
            buffer.copy_(part[step])
        self.labels.copy_(schedule.labels[step])
        self.weights.copy_(schedule.weights[step])
        self.rate.copy_(schedule.rates[step])
        self.epsilon.copy_(schedule.epsilons[step])
        graph = self.graphs.get((k, pulled, sizes))
        if graph is None:
            self._step(k, pulled, sizes)
        else:
            graph.replay()


@dataclass(frozen=True)
class Schedule:
    """A round's tables on the device."""

    inputs: Inputs  # [steps, n, ...] rows as the model takes them
    labels: Tensor  # [steps, n, b]
    weights: Tensor  # [steps, n, b]
    rates: Tensor  # [steps, n]
    epsilons: Tensor  # [steps]
    active: list[int]  # clients of the batch in each step

    @property
    def sizes(self) -> Sizes:
        """The shapes of one step's rows, which a graph depends on."""
        return tuple(tuple(part.shape[1:]) for part in self.inputs)


class BatchedTrainer:
    """The trainer for GPUs, and for small models everywhere."""

    def __init__(
        self, model: Model, shards: Shards, local: LocalTraining, *, class_shares: np.ndarray, memory_bytes: int
    ) -> None:
        self.model, self.local = model, local
        self.compact: Compact | None = make_compact(shards) if model.table else None
        self.shards = self.compact.shards if self.compact else shards
        blocks = -(-shards.sizes // local.batch)
        self.order = np.argsort(-blocks, kind="stable")  # most steps first
        self.pull = 2 * (1 - class_shares)
        self.sizes = group_sizes(shards.clients, self._client_bytes(), memory_bytes)
        self.kept: Group | None = None

    def _client_bytes(self) -> int:
        """Weights, their start, gradients, moments and two temporaries, and what a batch of rows keeps."""
        floats = self.model.size
        if self.compact is not None:
            rows, width = self.model.weights[0].shape
            floats -= (rows - self.compact.words.shape[1]) * width
        return 4 * (8 * floats + 2 * self.model.size + self.local.batch * self.model.activation_floats)

    def train(self, model: Tensor, plan: Plan) -> Tensor:
        """[m] -> [n, m], in the order of the shards."""
        starts = np.cumsum([0, *self.sizes])
        parts = [self._train(model, plan, self.order[a:b]) for a, b in itertools.pairwise(starts)]
        back = torch.as_tensor(np.argsort(self.order), device=model.device)
        return torch.cat(parts)[back]

    def _train(self, model: Tensor, plan: Plan, clients: np.ndarray) -> Tensor:
        pulled = bool(self.pull[clients].any())
        schedule = self._schedule(plan, clients, model.device)
        words = self.compact.words[torch.as_tensor(clients, device=model.device)] if self.compact else None
        group = self._group(words, len(clients), model.device)
        group.prepare(schedule, pulled)
        leaves = self._start(model, words, len(clients))
        group.load(leaves, torch.as_tensor(self.pull[clients], dtype=torch.float32, device=model.device))
        for step in range(len(schedule.active)):
            group.run(schedule, step, pulled)
        return self._changes(group, words)

    def _start(self, model: Tensor, words: Tensor | None, clients: int) -> list[Tensor]:
        if words is not None:
            return Compact(self.shards, words).cut(self.model, model)
        return [part.expand(clients, *part.shape) for part in self.model.split(model)]

    def _changes(self, group: Group, words: Tensor | None) -> Tensor:
        changes = [leaf - start for leaf, start in zip(group.leaves, group.start, strict=True)]
        if words is not None:
            return Compact(self.shards, words).widen(self.model, changes)
        return torch.cat([change.flatten(1) for change in changes], dim=1)

    def _group(self, words: Tensor | None, clients: int, device: torch.device) -> Group:
        """The kept buffers where all clients fit at once; otherwise buffers for this batch alone."""
        if self.kept is not None:
            return self.kept
        group = Group(self.model, words, self.local, clients, device)
        if len(self.sizes) == 1:
            self.kept = group
        return group

    def _schedule(self, plan: Plan, clients: np.ndarray, device: torch.device) -> Schedule:
        steps = plan.steps[clients]
        length = int(steps.max())
        pairs = [factors(self.local, step + 1) for step in range(length)]
        alive = np.arange(length)[:, None] < steps[None, :]  # [steps, n]
        rates = np.array([rate for rate, _ in pairs])[:, None] * alive

        def put(values: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(values)).to(device, non_blocking=True)

        rows = put(plan.rows[:length, clients])
        return Schedule(
            inputs=self.model.lay_out(self.shards.x[rows]),
            labels=self.shards.y[rows],
            weights=put(plan.weights[:length, clients]),
            rates=put(rates.astype(np.float32)),
            epsilons=put(np.array([eps for _, eps in pairs], dtype=np.float32)),
            active=[_bucket(int(count), len(clients)) for count in alive.sum(axis=1)],
        )


def _bucket(count: int, clients: int) -> int:
    """The smallest of n, n/2, n/4, … (rounded up) that holds `count` clients."""
    size = clients
    while size > 1 and math.ceil(size / 2) >= count:
        size = math.ceil(size / 2)
    return size
