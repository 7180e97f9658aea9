"""One client after another, several clients side by side: the strategy for convolutions on a CPU.

Batched products make a convolution slower on a CPU, and a second thread inside its small operators gains little. So
each core trains clients of its own with one thread; a client's result does not depend on how many there are.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.lab.models import Model
from martfl.lab.trainer.base import LocalTraining, Plan, Shards
from martfl.lab.trainer.compact import Compact, make_compact
from martfl.lab.trainer.optim import Pull, apply_step, factors, make_moments


class LoopTrainer:
    """Trains `workers` clients at a time."""

    def __init__(
        self, model: Model, shards: Shards, local: LocalTraining, *, class_shares: np.ndarray, workers: int
    ) -> None:
        self.model, self.local = model, local
        self.compact: Compact | None = make_compact(shards) if model.table else None
        self.shards = self.compact.shards if self.compact else shards
        self.pull = 2 * (1 - class_shares)
        self.workers = workers

    def train(self, model: Tensor, plan: Plan) -> Tensor:
        """[m] -> [n, m]."""
        out = model.new_zeros(self.shards.clients, self.model.size)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with ThreadPoolExecutor(self.workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                jobs = [pool.submit(self._client, out, model, plan, client) for client in self._largest_first(plan)]
                for job in jobs:
                    job.result()
        finally:
            torch.set_num_threads(threads)
        return out

    def _largest_first(self, plan: Plan) -> list[int]:
        return [int(client) for client in np.argsort(-plan.steps, kind="stable")]

    def _client(self, out: Tensor, model: Tensor, plan: Plan, client: int) -> None:
        words = self.compact.words[client : client + 1] if self.compact else None
        start = self._start(model, words)
        leaves = [part.clone() for part in start]
        moments = make_moments(leaves, self.local)
        pull = Pull(start, torch.tensor(float(self.pull[client]))) if self.pull[client] else None
        for step in range(int(plan.steps[client])):
            grads = self._gradients(leaves, plan, client, step)
            rate, epsilon = (torch.tensor(factor) for factor in factors(self.local, step + 1))
            apply_step(leaves, grads, moments, self.local, rate, epsilon, pull)
        target = self.model.split(out[client])
        for number, (part, leaf, first) in enumerate(zip(target, leaves, start, strict=True)):
            if words is not None and number == 0:
                part[words[0]] = leaf - first  # the rest of the table stays zero
            else:
                torch.sub(leaf, first, out=part)

    def _start(self, model: Tensor, words: Tensor | None) -> list[Tensor]:
        if words is not None:
            return [part[0] for part in Compact(self.shards, words).cut(self.model, model)]
        return self.model.split(model)

    def _gradients(self, leaves: list[Tensor], plan: Plan, client: int, step: int) -> list[Tensor]:
        filled = int(np.count_nonzero(plan.weights[step, client]))
        rows = torch.from_numpy(plan.rows[step, client, :filled]).to(leaves[0].device)
        weights = torch.from_numpy(plan.weights[step, client, :filled]).to(leaves[0].device)
        tracked = [leaf.detach().requires_grad_() for leaf in leaves]
        used = [leaf.bfloat16() for leaf in tracked] if self.local.precision == "bf16" else tracked
        logits = self.model.one(used, self.shards.x[rows]).float()
        losses = F.cross_entropy(logits, self.shards.y[rows], reduction="none")
        return list(torch.autograd.grad((losses * weights).sum(), tracked))
