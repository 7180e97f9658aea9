"""Training with the integer model against float training on the digits: accuracy and F1 within half a point."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, f1_score

from martfl.settlement import FixedPoint, integer_weights, scale_for
from martfl.settlement.exact import SlotLayout, aggregate

PROVIDERS, ROUNDS, CLASSES = 5, 40, 10


@pytest.fixture(scope="module")
def digits():
    """Five providers' data, of different size, and test data; a column of ones stands for the bias."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    inputs = np.hstack([images / 16, np.ones((len(labels), 1))])[order]  # (1797, 65)
    labels = labels[order]
    cuts = np.cumsum([100, 150, 200, 250, 300])
    parts = list(zip(np.split(inputs[:1000], cuts[:-1]), np.split(labels[:1000], cuts[:-1]), strict=True))
    return parts, inputs[1000:], labels[1000:]


def local_update(weights, inputs, labels):
    """Ten steps of softmax regression from the global model."""
    local = weights.reshape(-1, CLASSES).copy()
    for _ in range(10):
        scores = inputs @ local
        shares = np.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        local -= 0.5 * inputs.T @ (shares - np.eye(CLASSES)[labels]) / len(labels)
    return local.ravel() - weights


def train_float(parts, weights):
    model = np.zeros(65 * CLASSES)
    for _ in range(ROUNDS):
        model = model + sum(w * local_update(model, x, y) for w, (x, y) in zip(weights, parts, strict=True))
    return model


def train_integers(parts, weights, fixed):
    layout = SlotLayout(bits=fixed.bits, epochs=ROUNDS)
    model = fixed.quantise_model(np.zeros(65 * CLASSES))
    for _ in range(ROUNDS):
        start = fixed.dequantise_model(model)
        updates = [fixed.quantise(local_update(start, x, y), overflow="clip").values for x, y in parts]
        model = aggregate(model, integer_weights(weights), updates, layout=layout)
    return fixed.dequantise_model(model)


@pytest.mark.parametrize("bits", [8, 16])
def test_accuracy_and_f1_stay_within_half_a_point(digits, bits):
    parts, inputs, labels = digits
    weights = [0.1, 0.15, 0.2, 0.25, 0.3]
    answers = [
        np.argmax(inputs @ model.reshape(-1, CLASSES), axis=1)
        for model in (
            train_float(parts, weights),
            train_integers(parts, weights, FixedPoint(scale=scale_for(2.0, bits=bits), bits=bits)),
        )
    ]
    accuracy = [100 * accuracy_score(labels, a) for a in answers]
    f1 = [100 * f1_score(labels, a, average="macro") for a in answers]
    assert accuracy[0] > 90
    assert abs(accuracy[0] - accuracy[1]) <= 0.5
    assert abs(f1[0] - f1[1]) <= 0.5
