"""A task that trains in a millisecond: two classes, a plane between them. What is traded does not matter here."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LabelledRows = tuple[NDArray[np.float64], NDArray[np.int64]]
FEATURES, CLASSES = 12, 2
TRUTH = np.random.default_rng(7).normal(size=FEATURES)


def rows(seed: int, count: int = 60) -> LabelledRows:
    """Rows of two classes, told apart by one plane."""
    x = np.random.default_rng(seed).normal(size=(count, FEATURES))
    return x, (x @ TRUTH > 0).astype(np.int64)


@dataclass(frozen=True)
class Plane:
    """Softmax regression: 26 parameters."""

    steps: int = 20

    def initial(self) -> NDArray[np.float64]:
        """Nothing is known."""
        return np.zeros((FEATURES + 1) * CLASSES)

    def logits(self, model: NDArray[np.float64], data: LabelledRows) -> NDArray[np.float64]:
        """What the model gives each class [r, 2]."""
        table = model.reshape(FEATURES + 1, CLASSES)
        return np.asarray(data[0] @ table[:-1] + table[-1])

    def train(self, model: NDArray[np.float64], data: LabelledRows, *, seed: int) -> NDArray[np.float64]:
        """Some steps of gradient descent."""
        x, target, now = data[0], np.eye(CLASSES)[data[1]], model.copy()
        for _ in range(self.steps):
            z = self.logits(now, data)
            p = np.exp(z - z.max(axis=1, keepdims=True))
            error = (p / p.sum(axis=1, keepdims=True) - target) / len(x)
            now -= np.concatenate([x.T @ error, error.sum(axis=0, keepdims=True)]).ravel()
        return now - model

    def labels(self, data: LabelledRows) -> NDArray[np.int64]:
        """The true classes."""
        return data[1]
