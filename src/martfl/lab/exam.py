"""What a global model is measured on: test rows, validation rows for early stopping, and an attack's probe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks import Attack
from martfl.lab.data import Dataset
from martfl.lab.evaluate import Rowset, make_rowset
from martfl.lab.metrics import accuracy, macro_f1, roc_auc
from martfl.lab.models import Model
from martfl.lab.splits import Split, rows_of

Measured = dict[str, float | None]


@dataclass(frozen=True)
class Exam:
    """Rows that no rule sees."""

    num_classes: int
    test: Rowset
    validation: Rowset
    probe: Rowset | None  # test rows with the labels that an attacker wants
    own: np.ndarray | None  # the test rows that are the buyer's own; natural splits only
    others: tuple[Rowset | None, ...] = ()  # probes of further attacks

    def measure(self, flat: Tensor) -> Measured:
        """Everything that a round reports of a model, by the names of `RoundRow`."""
        found = self.test_figures(flat)
        found["validation"] = accuracy(self.validation.predict(flat), self.validation.labels)
        if self.probe is not None:
            found["asr"] = accuracy(self.probe.predict(flat), self.probe.labels)
        return found

    def other_successes(self, flat: Tensor) -> tuple[float | None, ...]:
        """The success of each further attack; None where it has no probe."""
        return tuple(accuracy(probe.predict(flat), probe.labels) if probe else None for probe in self.others)

    def test_figures(self, flat: Tensor) -> Measured:
        """Accuracy and F1 on test rows; the area under the curve where there are two classes."""
        scores, labels = self.test.scores(flat), self.test.labels
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


def make_exam(dataset: Dataset, split: Split, attacks: Sequence[Attack], model: Model, device: torch.device) -> Exam:
    """Lay the rows out on the device; of the attacks, the first is the run's own."""
    if not len(split.validation):
        raise InputError(f"dataset {dataset.name} is too small to hold validation rows")
    held = rows_of(dataset, split.validation)
    found = [attack.probe(dataset) if attack.probe is not None else None for attack in attacks]
    probes = [make_rowset(model, rows.x, rows.y, device) if rows is not None else None for rows in found]
    return Exam(
        dataset.num_classes,
        test=make_rowset(model, dataset.test_x, dataset.test_y, device),
        validation=make_rowset(model, held.x, held.y, device),
        probe=probes[0],
        own=split.own_test,
        others=tuple(probes[1:]),
    )
