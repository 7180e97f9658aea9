"""A common change that teaches a trigger while chosen answers stay as they are; the other half of `unheard`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.lab.models import Model
from martfl.lab.models.base import Params, split_flat

WAY = 4.0  # times as long as D are all steps together
FRESH = 5  # steps for which the gradients of the mean answers are good
CLOSER = 3  # steps to an answer that is wanted
SINGULAR, TINY = 1e-6, 1e-12


@dataclass(frozen=True)
class Secret:
    """What the attackers teach in a round, and what nobody shall hear of it."""

    net: Model
    place: Tensor  # [m] where honest updates lead
    part: float  # of D that reaches the model
    stamped: Tensor  # [r, …] rows with the trigger
    target: int
    plain: tuple[Tensor, Tensor]  # [p, …] rows without the trigger, and [p] what they mean
    useful: float = 1.0  # what these count
    questions: tuple[Tensor, ...] = ()  # [q, L] each: texts with the trigger's word, by how they ask about it

    @property
    def first(self) -> int:
        """Where D begins: a table of words is left as it is."""
        return self.net.weights[0].size if self.net.table else 0

    def nothing(self) -> Tensor:
        """[d] a change of length 0."""
        return torch.zeros_like(self.place[self.first :])

    def answers(self, change: Tensor, x: Tensor) -> Tensor:
        """[d] and rows [b, …] to logits [b, c]."""
        return self.net.one(self._params(change), x)

    def loss(self, change: Tensor) -> Tensor:
        """How far stamped rows are from meaning the target class, and others from meaning what they do."""
        told = torch.cat([torch.full_like(self.plain[1][:1], self.target).expand(len(self.stamped)), self.plain[1]])
        said = self.answers(self.part * change, torch.cat([self.stamped, self.plain[0]]))
        losses = F.cross_entropy(said, told, reduction="none")
        return losses[: len(self.stamped)].mean() + self.useful * losses[len(self.stamped) :].mean()

    def heard(self, change: Tensor) -> Tensor:
        """[q, c] the answers to all questions."""
        return self.answers(change, torch.cat(self.questions))

    def means(self, heard: Tensor) -> Tensor:
        """[ways, …] means over texts, one for each way to ask, of what is known of all questions [q, …]."""
        sizes = [len(texts) for texts in self.questions]
        return torch.stack([some.mean(dim=0) for some in torch.split(heard, sizes)])

    def mean_heard(self, change: Tensor) -> Tensor:
        """[ways · c] the mean answers."""
        return self.means(self.heard(change)).flatten()

    def _params(self, change: Tensor) -> Params:
        shapes = tuple(weight.shape for weight in self.net.weights)
        skipped = int(self.net.table)
        table = split_flat(self.place[: self.first], shapes[:skipped]) if skipped else []
        return [*table, *split_flat(self.place[self.first :] + change, shapes[skipped:])]


@dataclass(frozen=True)
class Fixed:
    """Answers that are to be what is wanted, and their gradients at some change."""

    wanted: Tensor  # [a]
    slopes: Tensor  # [a, d]
    inverse: Tensor  # [a, a] of slopes · slopesᵀ

    def along(self, step: Tensor) -> Tensor:
        """The part of a step that moves no answer."""
        return step - self.slopes.T @ (self.inverse @ (self.slopes @ step))

    def back(self, change: Tensor, answers: Tensor) -> Tensor:
        """The shortest way to the answers that are wanted."""
        return change - self.slopes.T @ (self.inverse @ (answers - self.wanted))


def hold(asked: Callable[[Tensor], Tensor], change: Tensor, wanted: Tensor) -> tuple[Fixed, Tensor]:
    """Hold answers from here on; and what they are here."""
    leaf = change.clone().requires_grad_()
    answers = asked(leaf)
    slopes = torch.stack([torch.autograd.grad(one, leaf, retain_graph=True)[0] for one in answers])
    inverse = torch.linalg.pinv((slopes @ slopes.T).double(), rtol=SINGULAR, hermitian=True)
    return Fixed(wanted, slopes, inverse.to(slopes.dtype)), answers.detach()


def find_change(secret: Secret, *, length: float, steps: int, quiet: float = 0.0) -> Tensor:
    """[d] the common change, no longer than `length`."""
    change, fixed = secret.nothing(), None
    with torch.no_grad():
        before = secret.heard(change) if secret.questions else None
    for step in range(steps):
        if before is not None and step % FRESH == 0:
            fixed, _ = hold(secret.mean_heard, change, secret.means(before).flatten())
        slope = _slope(secret, change, before, quiet)
        slope = fixed.along(slope) if fixed else slope
        change = cut(change - WAY / steps * length * slope / slope.norm().clamp(min=TINY), length)
        if fixed:
            with torch.no_grad():
                change = fixed.back(change, secret.mean_heard(change))
    return cut(change, length)


def _slope(secret: Secret, change: Tensor, before: Tensor | None, quiet: float) -> Tensor:
    """The gradient of the loss, and of what is heard in single texts where that counts."""
    leaf = change.clone().requires_grad_()
    loss = secret.loss(leaf)
    if quiet and before is not None:
        loss = loss + quiet * (secret.heard(leaf) - before).square().sum(dim=1).mean()
    return torch.autograd.grad(loss, leaf)[0]


def part_ways(secret: Secret, change: Tensor, *, parts: int, apart: float) -> Tensor:
    """[parts, d] a change for each part of the attackers, in which the word means a class of its own however asked.

    It is that many times as loud as the questions are by the common change; the parts together say nothing.
    """
    with torch.no_grad():
        moved = secret.heard(change) - secret.heard(secret.nothing())
        loud = secret.means(moved.square().sum(dim=1)).mean().sqrt()
        said = secret.mean_heard(change)
    told = torch.eye(moved.shape[1], device=said.device).roll(secret.target, dims=1)[:parts]
    told = told - told.mean(dim=0)
    told = told / told.norm(dim=1, keepdim=True).clamp(min=TINY) * (apart * math.sqrt(max(parts - 1, 1)) * loud)
    return torch.stack([_say(secret, change, said + one.repeat(len(secret.questions))) for one in told])


def _say(secret: Secret, change: Tensor, wanted: Tensor) -> Tensor:
    """The change next to this one by which the mean answers are what is wanted."""
    for _ in range(CLOSER):
        fixed, said = hold(secret.mean_heard, change, wanted)
        change = fixed.back(change, said)
    return change


def cut(rows: Tensor, length: Tensor | float) -> Tensor:
    """No row longer than that."""
    factors: Tensor = (length / rows.norm(dim=-1, keepdim=True).clamp(min=TINY)).clamp(max=1.0)
    return rows * factors
