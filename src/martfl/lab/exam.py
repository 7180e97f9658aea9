"""What a global model is measured on: test rows, validation rows for early stopping, and an attack's probe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks import Attack
from martfl.lab.data import Dataset
from martfl.lab.evaluate import Rowset, make_rowset, predict_one, scores_one
from martfl.lab.metrics import accuracy, macro_f1, roc_auc
from martfl.lab.models import Model
from martfl.lab.splits import Split, rows_of

Measured = dict[str, float | None]


@dataclass(frozen=True)
class Exam:
    """Rows that no rule sees."""

    model: Model
    num_classes: int
    test: Rowset
    validation: Rowset
    probe: Rowset | None  # test rows with the labels that an attacker wants
    own: np.ndarray | None  # the test rows that are the buyer's own; natural splits only

    def measure(self, flat: Tensor) -> Measured:
        """Everything that a round reports of a model, by the names of `RoundRow`."""
        found = self.test_figures(flat)
        found["validation"] = accuracy(predict_one(self.model, flat, self.validation.x), self.validation.labels)
        if self.probe is not None:
            found["asr"] = accuracy(predict_one(self.model, flat, self.probe.x), self.probe.labels)
        return found

    def test_figures(self, flat: Tensor) -> Measured:
        """Accuracy and F1 on test rows; the area under the curve where there are two classes."""
        scores, labels = scores_one(self.model, flat, self.test.x), self.test.labels
        predicted = scores.argmax(axis=1)
        found: Measured = {
            "mta": accuracy(predicted, labels),
            "f1": macro_f1(predicted, labels, self.num_classes),
        }
        margin = scores[:, 1] - scores[:, 0] if self.num_classes == 2 else None
        if margin is not None:
            found["auc"] = roc_auc(margin, labels)
        if self.own is not None:
            found["mta_own"] = accuracy(predicted[self.own], labels[self.own])
            found["auc_own"] = roc_auc(margin[self.own], labels[self.own]) if margin is not None else None
        return found


def make_exam(dataset: Dataset, split: Split, attack: Attack, model: Model, device: torch.device) -> Exam:
    """Lay the rows out on the device."""
    if not len(split.validation):
        raise InputError(f"dataset {dataset.name} is too small to hold validation rows")
    held = rows_of(dataset, split.validation)
    probe = attack.probe(dataset) if attack.probe is not None else None
    return Exam(
        model,
        dataset.num_classes,
        test=make_rowset(dataset.test_x, dataset.test_y, device),
        validation=make_rowset(held.x, held.y, device),
        probe=make_rowset(probe.x, probe.y, device) if probe is not None else None,
        own=split.own_test,
    )
