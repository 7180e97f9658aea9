"""SGD with momentum and Adam over lists of stacked tensors; a factor per client stops those that are done."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from martfl.lab.models.kernels import kernels_for
from martfl.lab.trainer.base import LocalTraining

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Moments:
    """Running averages of the gradients; `second` is Adam's alone."""

    first: list[Tensor]
    second: list[Tensor] = field(default_factory=list)

    def clear(self) -> None:
        """Start afresh."""
        for tensor in (*self.first, *self.second):
            tensor.zero_()


@dataclass(frozen=True)
class Pull:
    """What draws attackers towards the global model: its part of the gradient is force · (weights − start)."""

    start: list[Tensor]
    force: Tensor  # a number, or one per client


def make_moments(leaves: list[Tensor], local: LocalTraining) -> Moments:
    """Zeros in the shapes of the weights."""
    first = [torch.zeros_like(leaf) for leaf in leaves]
    return Moments(first, [torch.zeros_like(leaf) for leaf in leaves] if local.optimizer == "adam" else [])


def factors(local: LocalTraining, step: int) -> tuple[float, float]:
    """(rate, ε) of a step, counted from 1.

    Adam: w −= η/(1−β₁^t) · m / (√v/√(1−β₂^t) + ε), written as rate · m / (√v + ε') so that the device needs no powers.
    """
    if local.optimizer == "sgd":
        return local.learning_rate, 0.0
    root = math.sqrt(1 - BETA2**step)
    return local.learning_rate * root / (1 - BETA1**step), EPSILON * root


def _wide(values: Tensor, like: Tensor) -> Tensor:
    """[k] shaped to multiply [k, ...]; a number stays a number."""
    return values.view(-1, *[1] * (like.dim() - 1)) if values.dim() else values


@torch.no_grad()
def apply_step(
    leaves: list[Tensor],
    grads: list[Tensor],
    moments: Moments,
    local: LocalTraining,
    rate: Tensor,
    epsilon: Tensor,
    pull: Pull | None = None,
    rounded: list[Tensor] | None = None,
) -> None:
    """One step in place; `rate` is a number or one per client, 0 for a client that is done.

    `rounded` are copies in fewer bits, which follow.
    """
    kernels = kernels_for(leaves[0], "martfl.lab.trainer.optim_cuda") if rate.dim() else None
    if kernels:
        beta = local.momentum if local.optimizer == "sgd" else BETA1
        for i, (leaf, grad, first) in enumerate(zip(leaves, grads, moments.first, strict=True)):
            kernels.apply(
                leaf, grad, first, moments.second[i] if moments.second else None, rate, epsilon,
                momentum=beta, beta=BETA2, start=pull.start[i] if pull else leaf, pull=pull.force if pull else None,
                rounded=rounded[i] if rounded else None,
            )  # fmt: skip
        return
    _plain_step(leaves, [grad.float() for grad in grads], moments, local, rate, epsilon, pull)
    for copy, leaf in zip(rounded or (), leaves, strict=False):
        copy.copy_(leaf)


def _plain_step(
    leaves: list[Tensor],
    grads: list[Tensor],
    moments: Moments,
    local: LocalTraining,
    rate: Tensor,
    epsilon: Tensor,
    pull: Pull | None,
) -> None:
    if pull is not None:
        for grad, leaf, start in zip(grads, leaves, pull.start, strict=True):
            grad.addcmul_(leaf - start, _wide(pull.force, leaf))
    if local.optimizer == "sgd":
        torch._foreach_mul_(moments.first, local.momentum)
        torch._foreach_add_(moments.first, grads)
        for leaf, first in zip(leaves, moments.first, strict=True):
            leaf.addcmul_(first, _wide(rate, leaf), value=-1)
        return
    torch._foreach_lerp_(moments.first, grads, 1 - BETA1)
    torch._foreach_mul_(moments.second, BETA2)
    torch._foreach_addcmul_(moments.second, grads, grads, 1 - BETA2)
    for leaf, first, second in zip(leaves, moments.first, moments.second, strict=True):
        leaf.sub_(first.div(second.sqrt().add_(epsilon)).mul_(_wide(rate, leaf)))
