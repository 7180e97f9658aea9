"""FLAME, DnC, AlignIns and norm-clipped averaging against slow references, and on what they were made for."""

import numpy as np
import pytest
import torch

from martfl.errors import InputError
from martfl.lab.rules import make_rule
from martfl.lab.rules.alignins import deviations, sign_alignment
from martfl.lab.rules.clipped import clip_factors
from martfl.lab.rules.dnc import outlier_scores
from martfl.lab.rules.flame import majority


def decide(name, view, **params):
    rule = make_rule(name, **params)
    return rule.step(rule.init(), view)[1]


@pytest.fixture
def two_groups():
    """[12, 400]: nine that share a direction, three that share another besides."""
    rng = np.random.default_rng(0)
    task, secret = rng.normal(size=(2, 400))
    rows = task + 0.3 * rng.normal(size=(12, 400))
    rows[9:] += 2.0 * secret
    return rows


@pytest.mark.parametrize(
    ("name", "params"),
    [("flame", {"noise": 0.0}), ("dnc", {"byzantine": 0.25, "coordinates": 100}), ("alignins", {})],
)
def test_a_minority_with_a_secret_is_left_out(name, params, view_of, two_groups) -> None:
    decision = decide(name, view_of(two_groups, model=torch.ones(400, dtype=torch.float64)), **params)
    assert not decision.weights[9:].any() and (decision.weights > 0).sum() >= 5
    assert decision.bought.all()


def test_clipping_cuts_lengths_to_the_median_and_leaves_directions(view_of) -> None:
    rows = np.array([[3.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    decision = decide("norm-clipped", view_of(rows))
    assert decision.update.tolist() == pytest.approx([2 / 3, 1.0])
    tight = decide("norm-clipped", view_of(rows), bound=1.0)
    assert tight.update.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert clip_factors(np.array([2.0, 0.5, np.nan, 0.0]), 1.0).tolist() == [0.5, 1.0, 0.0, 1.0]


def test_flame_by_hand(view_of, two_groups) -> None:
    decision = decide("flame", view_of(two_groups), noise=0.0)
    kept = np.flatnonzero(decision.weights)
    lengths = np.linalg.norm(two_groups, axis=1)
    bound = np.median(lengths)
    expected = sum(two_groups[i] * min(1.0, bound / lengths[i]) for i in kept) / len(kept)
    assert np.allclose(decision.update, expected)
    noisy = decide("flame", view_of(two_groups), noise=0.01)
    added = (noisy.update - decision.update).numpy()
    assert added.std() == pytest.approx(0.01 * bound, rel=0.2)


def test_flame_keeps_everybody_where_there_is_no_majority_of_a_kind() -> None:
    assert majority(np.zeros((2, 2))).all()
    distances = 1.0 - np.eye(6)
    assert majority(distances).any()


def test_dnc_scores_are_squared_projections_on_the_first_singular_vector() -> None:
    rows = np.random.default_rng(1).normal(size=(7, 30))
    centred = rows - rows.mean(axis=0)
    first = np.linalg.svd(centred, full_matrices=False)[2][0]
    assert outlier_scores(rows) == pytest.approx((centred @ first) ** 2)


def test_dnc_removes_as_many_as_it_was_told_to_expect(view_of, two_groups) -> None:
    assert (decide("dnc", view_of(two_groups), byzantine=0.25, rounds=1).weights > 0).sum() == 9
    assert (decide("dnc", view_of(two_groups), byzantine=0.0).weights > 0).all()


def test_alignins_looks_at_the_signs_of_the_largest_coordinates() -> None:
    updates = torch.tensor([[5.0, 1.0, -1.0, 1.0], [4.0, 1.0, 1.0, -1.0], [-5.0, 1.0, 1.0, 1.0]])
    assert sign_alignment(updates, 0.25).tolist() == [1.0, 1.0, 0.0]
    assert deviations(np.array([1.0, 1.0, 1.0])).tolist() == [0.0, 0.0, 0.0]
    assert deviations(np.array([0.0, 0.0, 3.0]))[2] == pytest.approx(3.0 / np.std([0.0, 0.0, 3.0]))


def test_alignins_with_nobody_in_line_leaves_the_model(view_of) -> None:
    rows = [[3.0, 0.1], [0.1, -3.0], [-3.0, 0.1], [-1.0, 3.0]]
    model = torch.tensor([1.0, 0.5], dtype=torch.float64)
    decision = decide("alignins", view_of(rows, model=model), radius=1e-6, share=0.5)
    assert not decision.update.any() and "stays as it is" in decision.note


@pytest.mark.parametrize("name", ["flame", "dnc", "alignins", "norm-clipped"])
def test_a_broken_update_is_left_out(name, view_of, two_groups) -> None:
    broken = two_groups.copy()
    broken[3, 5] = np.nan
    decision = decide(name, view_of(broken))
    assert decision.weights[3] == 0 and torch.isfinite(decision.update).all()


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("flame", {"noise": -1.0}),
        ("dnc", {"byzantine": 1.0}),
        ("dnc", {"rounds": 0}),
        ("alignins", {"radius": 0.0}),
        ("alignins", {"share": 0.0}),
        ("norm-clipped", {"bound": 0.0}),
        ("fedavg", {"share": 0.0}),
    ],
)
def test_bad_parameters_are_refused(name, params) -> None:
    with pytest.raises(InputError, match="got"):
        make_rule(name, **params)


def test_fedavg_over_a_share_draws_as_many_in_every_round(view_of, crowd) -> None:
    drawn = [decide("fedavg", view_of(crowd, rng=np.random.default_rng(seed)), share=0.35) for seed in range(5)]
    assert all(decision.bought.sum() == 3 == (decision.weights > 0).sum() for decision in drawn)
    assert len({tuple(decision.bought) for decision in drawn}) > 1
