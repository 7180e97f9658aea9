"""How good models are, from what they say: rows first, numpy only."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from martfl.arrays import Longs, Reals

Quality = dict[str, float]  # the first entry is the one that counts: higher is better, at most 1


def log_chance(logits: Reals, truth: Longs) -> Reals:
    """The log probability of every row's true class [..., r] of logits [..., r, classes]."""
    chances = log_softmax(logits, axis=-1)
    places = np.broadcast_to(truth[..., None], (*logits.shape[:-1], 1))
    return np.asarray(np.take_along_axis(chances, places, axis=-1)[..., 0])


def class_quality(logits: Reals, truth: Longs) -> Quality:
    """Accuracy and loss of logits [r, classes]; of two classes, the area under the ROC curve too."""
    found: Quality = {"accuracy": float(np.mean(logits.argmax(axis=-1) == truth))}
    if logits.shape[-1] == 2:
        found["auc"] = auc(logits[:, 1] - logits[:, 0], truth == 1)
    return found | {"loss": -float(log_chance(logits, truth).mean())}


def auc(scores: Reals, positive: NDArray[np.bool_]) -> float:
    """The chance that a positive row scores above a negative one, ties by halves; NaN where one kind is missing."""
    many, few = int(positive.sum()), int((~positive).sum())
    if not many or not few:
        return float("nan")
    from scipy.stats import rankdata  # loads slowly

    ranks = rankdata(scores)
    return float((ranks[positive].sum() - many * (many + 1) / 2) / (many * few))


def error_quality(output: Reals, target: Reals) -> Quality:
    """The share of the target's variance that is explained (R²), and the root of the mean squared error."""
    error = float(np.mean((output - target) ** 2))
    spread = float(np.mean((target - target.mean(axis=0)) ** 2))
    return {"r2": 1 - error / spread if spread > 0 else float("nan"), "rmse": error**0.5}


def token_quality(likelihood: Reals, tokens: Longs) -> Quality:
    """The geometric mean of the tokens' probabilities and the loss, from each row's mean log likelihood."""
    loss = -float(np.average(likelihood, weights=tokens))
    return {"likelihood": float(np.exp(-loss)), "loss": loss}
