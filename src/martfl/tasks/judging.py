"""Kinds of judging: what is kept of a model's outputs, row by row, and what that says of the model.

A kind first `look`s at each batch (outputs may be large and are dropped after it); what it keeps has rows first and is
put together over batches. Everything else is worked out from that.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.arrays import Array, Reals
from martfl.tasks.errors import TaskError
from martfl.tasks.measures import Quality, class_quality, error_quality, log_chance, token_quality

Seen = Mapping[str, Array]  # rows first
Loss = Callable[..., Tensor]  # (output, target) → one number for the batch
IGNORED = -100  # a target token that does not count


class Judging(Protocol):
    """One kind of judging."""

    def look(self, output: Tensor, target: Tensor) -> dict[str, Tensor]:
        """What is kept of a batch."""

    def goodness(self, seen: Seen) -> Reals:
        """How good the model is on every row [r]."""

    def quality(self, seen: Seen) -> Quality:
        """What a person wants to know."""

    def strata(self, target: Tensor) -> Tensor | None:
        """The strata of a batch's rows, where the kind has any."""

    def logits(self, seen: Seen) -> Reals | None:
        """The logits of every row, where the kind has classes [r, classes]."""


@dataclass(frozen=True)
class ClassProbability:
    """Classifiers: the log probability of the true class."""

    def look(self, output: Tensor, target: Tensor) -> dict[str, Tensor]:
        """Logits and truth."""
        if output.ndim != 2 or target.ndim != 1 or target.is_floating_point():
            raise TaskError(
                "a classifier gives logits [rows, classes] for integer classes [rows]; got outputs of shape "
                f"{tuple(output.shape)} and targets {target.dtype} of shape {tuple(target.shape)}"
            )
        if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < output.shape[1]:
            raise TaskError(f"classes lie in 0..{output.shape[1] - 1}, got {int(target.min())}..{int(target.max())}")
        return {"logits": output, "truth": target.long()}

    def goodness(self, seen: Seen) -> Reals:
        """log p(truth)."""
        return log_chance(seen["logits"], seen["truth"])

    def quality(self, seen: Seen) -> Quality:
        """Accuracy, loss, and AUC where there are two classes."""
        return class_quality(seen["logits"], seen["truth"])

    def strata(self, target: Tensor) -> Tensor | None:
        """The true classes."""
        return target.long()

    def logits(self, seen: Seen) -> Reals | None:
        """As they came."""
        return seen["logits"]


class _NoClasses:
    """What kinds without classes share."""

    def strata(self, target: Tensor) -> Tensor | None:
        """Nothing puts rows together."""
        return None

    def logits(self, seen: Seen) -> Reals | None:
        """There are none."""
        return None


@dataclass(frozen=True)
class NegativeLoss(_NoClasses):
    """Any loss: what it says of each row, with the sign turned."""

    loss: Loss

    def look(self, output: Tensor, target: Tensor) -> dict[str, Tensor]:
        """Row by row: a loss may mix the rows of a batch."""
        one = [self.loss(output[i : i + 1], target[i : i + 1]).mean() for i in range(len(target))]
        return {"loss": torch.stack(one)}

    def goodness(self, seen: Seen) -> Reals:
        """−loss."""
        return -seen["loss"]

    def quality(self, seen: Seen) -> Quality:
        """The mean over rows."""
        loss = float(np.mean(seen["loss"]))
        return {"goodness": -loss, "loss": loss}


@dataclass(frozen=True)
class RegressionError(_NoClasses):
    """Real targets: the squared error, with the sign turned."""

    def look(self, output: Tensor, target: Tensor) -> dict[str, Tensor]:
        """Outputs and targets of one shape; a last axis of one is dropped."""
        flat, wanted = output.reshape(len(output), -1), target.reshape(len(target), -1).to(output.dtype)
        if flat.shape != wanted.shape:
            raise TaskError(f"outputs and targets must be alike: got {tuple(output.shape)} and {tuple(target.shape)}")
        return {"output": flat, "target": wanted}

    def goodness(self, seen: Seen) -> Reals:
        """−mean over the row's outputs of (output − target)²."""
        return np.asarray(-((seen["output"] - seen["target"]) ** 2).mean(axis=1))

    def quality(self, seen: Seen) -> Quality:
        """R² and the root of the mean squared error."""
        return error_quality(seen["output"], seen["target"])


@dataclass(frozen=True)
class TokenLikelihood(_NoClasses):
    """Language models: the mean log likelihood of a row's tokens, given those before them."""

    def look(self, output: Tensor, target: Tensor) -> dict[str, Tensor]:
        """Of logits [r, t, words] and tokens [r, t], −100 where a token does not count: sums and counts of rows."""
        losses = token_losses(output, target)  # [r, t − 1]
        counted = (target[:, 1:] != IGNORED).sum(dim=1)
        return {"likelihood": -losses.sum(dim=1) / counted.clamp(min=1), "tokens": counted}

    def goodness(self, seen: Seen) -> Reals:
        """Mean log likelihood of a token."""
        return seen["likelihood"]

    def quality(self, seen: Seen) -> Quality:
        """Likelihood and loss of a token, over all rows."""
        return token_quality(seen["likelihood"], seen["tokens"])


def token_losses(output: Tensor, target: Tensor) -> Tensor:
    """−log p(token | tokens before) [r, t − 1]; 0 where a token does not count."""
    ahead = target[:, 1:]
    losses = F.cross_entropy(output[:, :-1].flatten(0, 1).float(), ahead.flatten(), reduction="none")
    return losses.view(ahead.shape)


def token_loss(output: Tensor, target: Tensor) -> Tensor:
    """The mean over the tokens of a batch: what language models are trained by."""
    return token_losses(output, target).sum() / (target[:, 1:] != IGNORED).sum().clamp(min=1)
