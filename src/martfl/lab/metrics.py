"""What is measured in a round, from predictions and decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class RoundRow:
    """One round; None where it was not evaluated or the measure does not apply."""

    round: int
    mta: float | None = None  # accuracy on the test rows
    f1: float | None = None  # macro F1 on the test rows
    auc: float | None = None  # area under the ROC curve on the test rows; of two classes only
    mta_own: float | None = None  # accuracy on the test rows that are the buyer's own; natural splits only
    auc_own: float | None = None
    asr: float | None = None  # share of the attack's probe rows predicted as the attacker wants
    dac: float = 0.0  # share of the providers whose plaintext was bought
    inclusiveness: float | None = None  # share of the benign providers in the aggregate
    inclusiveness_hq: float | None = None  # the same among benign, unbiased providers
    robustness: float | None = None  # share of the malicious providers not in the aggregate
    baseline_correct: float | None = None  # 1 if cos(baseline, ground truth) > 0
    baselines: int = 0  # encrypted baselines sent
    same_choices: float | None = None  # share of the providers whom sketched and exact scores judge alike
    same_purchases: float | None = None  # share of the providers whom they buy and weigh alike
    validation: float | None = None  # accuracy on the validation rows
    quantisation_loss: float | None = None  # MTA of the float aggregate − MTA of the integer one
    f1_loss: float | None = None  # the same of F1
    seconds: float = 0.0  # of the whole round
    rule_seconds: float = 0.0  # of the rule alone


def accuracy(predicted: np.ndarray, labels: np.ndarray) -> float:
    """Share of equal entries."""
    return float(np.mean(predicted == labels))


def macro_f1(predicted: np.ndarray, labels: np.ndarray, num_classes: int) -> float:
    """Mean over the classes of 2·TP / (2·TP + FP + FN); a class that neither occurs nor is predicted is left out."""
    table = np.bincount(labels * num_classes + predicted, minlength=num_classes**2).reshape(num_classes, num_classes)
    hits = np.diag(table)
    seen = table.sum(axis=0) + table.sum(axis=1)  # 2·TP + FP + FN
    return float(np.mean(2 * hits[seen > 0] / seen[seen > 0]))


def roc_auc(scores: np.ndarray, labels: np.ndarray) -> float | None:
    """The chance that a row of class 1 scores above one of class 0, ties by half; None where a class is missing."""
    positive = int(np.sum(labels == 1))
    negative = len(labels) - positive
    if not positive or not negative:
        return None
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]  # from 1, the mean rank among equals
    above = float(ranks[labels == 1].sum()) - positive * (positive + 1) / 2
    return above / (positive * negative)


def share(chosen: np.ndarray, among: np.ndarray) -> float | None:
    """The mean of `chosen` over those `among`; None if there are none."""
    return float(np.mean(chosen[among])) if among.any() else None


def cosine(a: Tensor, b: Tensor) -> float:
    """cos(a, b); 0 if one of them is zero."""
    norm = float(torch.linalg.vector_norm(a) * torch.linalg.vector_norm(b))
    return float(a @ b) / norm if norm > 0 else 0.0


def ground_truth(updates: Tensor, sizes: np.ndarray, good: np.ndarray) -> Tensor:
    """The update that plenty of good data would give: the mean over good providers, weighted by their rows."""
    rows = torch.as_tensor(np.flatnonzero(good), device=updates.device)
    weights = torch.as_tensor(sizes[good] / sizes[good].sum(), dtype=updates.dtype, device=updates.device)
    return weights @ updates[rows]


def mean(values: list[float | None]) -> float | None:
    """The mean of what was measured."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def fall(accuracies: Sequence[tuple[int, float]]) -> float | None:
    """How far the accuracy fell: the best one minus the lowest of the last third of the rounds; pairs (round, mta)."""
    if not accuracies:
        return None
    late = [value for number, value in accuracies if 3 * number > 2 * accuracies[-1][0]]
    return max(value for _, value in accuracies) - min(late)
