"""The handwritten digits that scikit-learn bundles: everything runs without a download."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from martfl.lab.data.base import Dataset

TEST_ROWS = 450


def load_digits(folder: Path | None) -> Dataset:
    """1,797 images of 8 × 8 as 64 columns in [0, 1]; the last 450 rows are the test set."""
    from sklearn.datasets import load_digits as bundled

    values, labels = bundled(return_X_y=True)
    columns = np.asarray(values / 16.0, dtype=np.float32)
    labels = np.asarray(labels, dtype=np.int64)
    return Dataset(
        name="digits",
        kind="features",
        train_x=columns[:-TEST_ROWS],
        train_y=labels[:-TEST_ROWS],
        test_x=columns[-TEST_ROWS:],
        test_y=labels[-TEST_ROWS:],
        classes=tuple(str(digit) for digit in range(10)),
    )
