"""FLTrust: clipped cosines as trust, every update at the length of the acquirer's own."""

import numpy as np
import pytest
import torch

from martfl.lab.rules import make_rule


def reference(updates, own):
    """The paper's equations, provider by provider."""
    total, weights = np.zeros_like(own), []
    for row in updates:
        cosine = row @ own / (np.linalg.norm(row) * np.linalg.norm(own))
        weights.append(max(0.0, cosine))
        total += weights[-1] * row * np.linalg.norm(own) / np.linalg.norm(row)
    return total / sum(weights), np.array(weights) / sum(weights)


def decide(view):
    rule = make_rule("fltrust")
    return rule.step(rule.init(), view)[1]


@pytest.mark.parametrize("seed", range(5))
def test_it_agrees_with_the_equations(seed, view_of) -> None:
    random = np.random.default_rng(seed)
    updates, own = random.normal(size=(8, 40)), random.normal(size=40)
    decision = decide(view_of(updates, own_update=torch.as_tensor(own)))
    expected, weights = reference(updates, own)
    assert decision.update.numpy() == pytest.approx(expected)
    assert decision.weights == pytest.approx(weights)
    assert np.array_equal(decision.bought, weights > 0)


def test_length_buys_no_influence(view_of) -> None:
    own = torch.tensor([1.0, 0.0], dtype=torch.float64)
    plain = decide(view_of([[1.0, 1.0], [1.0, 0.0]], own_update=own))
    scaled = decide(view_of([[100.0, 100.0], [1.0, 0.0]], own_update=own))
    assert torch.allclose(plain.update, scaled.update)


def test_an_opposed_update_is_not_bought(view_of) -> None:
    own = torch.tensor([1.0, 0.0], dtype=torch.float64)
    decision = decide(view_of([[1.0, 0.1], [-1.0, 0.1], [0.0, 1.0]], own_update=own))
    assert decision.bought.tolist() == [True, False, False]
    assert torch.equal(decision.baseline, own)
    assert decision.baselines == 1


def test_with_nobody_trusted_the_model_stays(view_of) -> None:
    decision = decide(view_of([[-1.0, 0.0], [0.0, 0.0]], own_update=torch.tensor([1.0, 0.0], dtype=torch.float64)))
    assert not decision.update.any()
    assert "nobody is trusted" in decision.note
