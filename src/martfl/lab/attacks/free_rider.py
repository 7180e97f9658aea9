"""Free riding by delta weights (Lin et al., 2019): no data, no training, the last global step handed in again."""

from __future__ import annotations

import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks.base import Attack, CraftView


def free_rider(*, noise: float = 1e-3) -> Attack:
    """u' = W^t − W^{t−1}; in the first round, when there is no last step, Gaussian noise of the given deviation."""
    if not noise > 0:
        raise InputError(f"free-rider noise must be positive, got {noise}")

    def craft(view: CraftView) -> Tensor:
        if view.previous is not None:
            return (view.model - view.previous).expand_as(view.updates).clone()
        shape, device = view.updates.shape, view.updates.device
        return noise * torch.randn(shape, generator=view.generator, device=device, dtype=view.updates.dtype)

    return Attack("free-rider", "Lin et al., Free-riders in federated learning, 2019", craft=craft, trains=False)
