"""Gains row by row: what counts, and what says nothing of quality."""

import math
from dataclasses import replace

import numpy as np
import pytest

from martfl.selection.gains import (
    Gains,
    gain_now,
    is_even,
    mean_and_error,
    measure,
    models_towards,
    row_weights,
    unlike_strata,
)

FEATURES, CLASSES = 500, 4  # as in the buyer's world


def measured(buyer, steps, **options):
    return measure(buyer, models_towards(buyer.model, np.stack(steps)), buyer.strata, **options)


def gain(buyer, steps, **options):
    found = measured(buyer, steps, **options)
    return mean_and_error(found.rows, found.weights)


def test_the_truth_gains_and_its_opposite_loses(world) -> None:
    mean, error = gain(world.buyer(world.around(world.truth, 1)), [world.truth, -world.truth, world.dead])
    assert mean[0] > 5 * error[0] and mean[1] < -5 * error[1]
    assert mean[2] == pytest.approx(0.0, abs=1e-9)


def test_pushing_all_rows_towards_one_class_says_nothing_of_quality(world) -> None:
    buyer = world.buyer(world.around(world.truth, 1))
    buyer.rows[:, 0] = 1.0  # a constant feature: its column is a bias
    bias = np.zeros((FEATURES, CLASSES))
    bias[0, 2] = 1.0
    steps = [world.truth, world.truth + 0.5 * bias.ravel()]
    plain, shifted = gain(buyer, steps)[0]
    assert shifted == pytest.approx(plain, rel=1e-6)
    uncentred = gain(buyer, steps, centre=False)[0]
    assert abs(uncentred[0] - uncentred[1]) > 1e-3


def test_without_logits_the_rows_goodness_alone_tells(world) -> None:
    updates = world.around(world.truth, 1)
    with_logits = gain(world.buyer(updates), [world.truth, -world.truth, world.shifted])[0]
    without = gain(world.buyer(updates, has_logits=False, strata=None), [world.truth, -world.truth, world.shifted])[0]
    assert np.argsort(with_logits).tolist() == np.argsort(without).tolist()
    assert without[0] > 0 > without[1]


def test_classes_that_the_root_data_lack_are_not_held_against_anybody(world) -> None:
    half = world.buyer(world.around(world.truth, 1), classes=(0, 1))
    away = np.zeros((FEATURES, CLASSES))
    away[:, 3] = world.prototypes[0]  # believes in class 3 where the root data hold class 0
    found = measured(half, [world.truth, world.truth + away.ravel()])
    assert found.cover == 0.5
    mean, _ = mean_and_error(found.rows, found.weights)
    assert mean[0] == pytest.approx(mean[1], rel=1e-6)


def test_a_step_that_breaks_the_model_gives_numbers_all_the_same(world) -> None:
    buyer = world.buyer(world.around(world.truth, 1))
    found = measured(buyer, [world.truth, np.full_like(world.truth, 1e308)])
    assert np.isfinite(found.rows).all()


def test_rare_classes_count_less_than_their_share_of_classes_and_more_than_their_rows() -> None:
    strata = np.array([0] * 100 + [1] * 2)
    weights = row_weights(strata, 102)
    assert weights.sum() == pytest.approx(1.0)
    assert 2 / 102 < weights[100:].sum() < 1 / 2
    assert row_weights(None, 4) == pytest.approx([0.25] * 4)


@pytest.mark.parametrize(
    ("counts", "classes", "even"),
    [([10, 10, 10, 10], 4, True), ([40, 40, 10, 10], 4, False), ([30, 30, 20, 20], 4, True), ([20, 20], 4, False)],
)
def test_root_data_are_even_where_no_half_of_the_classes_dominates(counts, classes, even) -> None:
    assert is_even(np.repeat(np.arange(len(counts)), counts), classes, 0.25) is even
    assert is_even(None, 0, 0.25)


def gains_with(shifts, *, rows=200, seed=0):
    """Updates that are alike in quality and shift classes by so many row errors."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(len(shifts), rows))
    plain = quality + np.asarray(shifts)[:, None] / np.sqrt(rows)
    return Gains(quality, plain, np.full(rows, 1 / rows), 1.0, 4)


def test_shifts_of_classes_are_measured_beside_those_of_the_others() -> None:
    """Among sellers of few classes everybody shifts: that is the usual, and takes nobody's weight away."""
    many, one = (
        gain_now(gains_with(np.linspace(-12, 12, 15)), even=True),
        gain_now(gains_with([-12] + [0] * 14), even=True),
    )
    assert np.abs(many).max() < 2.5
    assert one[0] < -3.5 and np.abs(one[1:]).max() < 2.5


def test_shifts_say_nothing_where_the_root_data_are_uneven_and_gains_nothing_where_they_lack_classes() -> None:
    shifted, plain = gains_with([-12] + [0] * 14), gains_with([0] * 15)
    assert np.allclose(gain_now(shifted, even=False), gain_now(plain, even=False))
    assert not gain_now(replace(shifted, cover=0.5), even=True).any()


def test_rows_of_one_crowd_have_no_unlike_strata() -> None:
    strata, rows = np.repeat(np.arange(10), 30), np.random.default_rng(0).normal(size=(200, 300))
    assert np.median(unlike_strata(rows, row_weights(strata, 300), strata)) == pytest.approx(1.0, abs=0.2)
    assert unlike_strata(rows[:3], row_weights(None, 300), None).tolist() == [1.0, 1.0, 1.0]


def test_means_of_strata_served_unlike_differ_as_much_as_is_said() -> None:
    """Over draws of ten strata, means in the stated deviation are Student's t with nine degrees of freedom."""
    rng, strata = np.random.default_rng(1), np.repeat(np.arange(10), 30)
    rows = (2.0 * rng.normal(size=(2000, 10)))[:, strata] + rng.normal(size=(2000, 300))
    weights = row_weights(strata, 300)
    mean, error = mean_and_error(rows, weights)
    assert np.std(mean / (error * unlike_strata(rows, weights, strata))) == pytest.approx(math.sqrt(9 / 7), rel=0.05)
