"""Heart disease in four hospitals (UCI): thirteen findings a patient, and whether a disease was diagnosed.

Collected by Andras Janosi, M.D. (Hungarian Institute of Cardiology, Budapest), William Steinbrunn, M.D. (University
Hospital, Zurich), Matthias Pfisterer, M.D. (University Hospital, Basel) and Robert Detrano, M.D., Ph.D. (V.A. Medical
Center, Long Beach, and Cleveland Clinic Foundation).
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from martfl.lab.data.base import Dataset
from martfl.lab.data.files import DataError, find

HOSPITALS = {
    "Cleveland": "processed.cleveland.data",
    "Hungary": "processed.hungarian.data",
    "Switzerland": "processed.switzerland.data",
    "Long Beach": "processed.va.data",
}
HINT = f"Put the official {', '.join(HOSPITALS.values())} into heart-disease/ of the data folder."
COLUMNS, DIAGNOSIS = 13, 13  # age, sex, chest pain, pressure, cholesterol, sugar, ECG, rate, angina, ST, slope, vessels
NUMBERS = (0, 1, 3, 4, 5, 7, 8, 9, 11)  # the others are kinds: chest pain, ECG, slope, thal
KINDS = {2: (1, 2, 3, 4), 6: (0, 1, 2), 10: (1, 2, 3), 12: (3, 6, 7)}
NEVER_ZERO = (3, 4)  # blood pressure and cholesterol: a 0 stands for a value that was not taken
TEST_SHARE = 1 / 3


def read_patients(path: Path) -> np.ndarray:
    """[patients, 14]; NaN where nothing was noted, which files write as ? or −9."""
    rows = []
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file), start=1):
            if number == 1 and row and row[0] == "X1":
                continue  # some copies have a header
            try:
                rows.append([np.nan if text.strip() in ("?", "-9", "-9.0") else float(text) for text in row])
            except ValueError:
                raise DataError(f"{path} row {number} must hold numbers, got {row}") from None
            if len(row) != COLUMNS + 1:
                raise DataError(f"{path} row {number} must hold {COLUMNS + 1} values, got {len(row)}")
    found = np.array(rows).reshape(-1, COLUMNS + 1)
    if not len(found) or not np.isfinite(found[:, DIAGNOSIS]).all():
        raise DataError(f"{path} must give every patient a diagnosis; it has {len(found)} patients")
    for column in NEVER_ZERO:
        found[found[:, column] == 0, column] = np.nan
    return found


def features(patients: np.ndarray, like: np.ndarray) -> np.ndarray:
    """[patients, 22]: numbers in deviations from the mean of the rows `like`, kinds one by one; 0 where unknown."""
    known = np.ma.masked_invalid(like[:, NUMBERS])
    mean, deviation = known.mean(axis=0).filled(0.0), known.std(axis=0).filled(1.0)
    numbers = (patients[:, NUMBERS] - mean) / np.where(deviation > 0, deviation, 1.0)
    kinds = [patients[:, column] == kind for column, values in KINDS.items() for kind in values]
    return np.column_stack([np.nan_to_num(numbers), *kinds]).astype(np.float32)


def load_heart(folder: Path | None) -> Dataset:
    """920 patients; a third of every hospital's, always the same ones, are the test set."""
    train, test = [], []
    for name in HOSPITALS.values():
        path = find(folder, dataset="heart", subfolder="heart-disease", name=name, hint=HINT)
        patients = np.random.default_rng(0).permutation(read_patients(path))
        held = round(TEST_SHARE * len(patients))
        test.append(patients[:held])
        train.append(patients[held:])
    known, unseen = np.concatenate(train), np.concatenate(test)
    return Dataset(
        name="heart",
        kind="features",
        train_x=features(known, known),
        train_y=(known[:, DIAGNOSIS] > 0).astype(np.int64),
        test_x=features(unseen, known),
        test_y=(unseen[:, DIAGNOSIS] > 0).astype(np.int64),
        classes=("healthy", "disease"),
        owners=tuple(HOSPITALS),
        train_owner=np.repeat(np.arange(len(train)), [len(part) for part in train]),
        test_owner=np.repeat(np.arange(len(test)), [len(part) for part in test]),
    )
