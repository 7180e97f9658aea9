"""How the demo's sellers behave."""

import numpy as np
import pytest

from martfl.demo.cast import DemoOptions, make_cast
from martfl.demo.conducts import FORGED, HONEST, make_conduct
from martfl.errors import InputError
from martfl.lab.data import load_dataset
from martfl.lab.task import digits
from martfl.market.conduct import Lesson


@pytest.fixture(scope="module")
def lesson():
    data = load_dataset("digits")
    task = digits(epochs=1)
    model = task.initial()
    return Lesson(task, (data.train_x[:60], data.train_y[:60]), model, model - 0.25, seed=7)


def test_the_honest_train_and_are_scored_by_what_they_sell(lesson):
    honest = make_conduct(HONEST, sellers=3)
    update = honest.update(lesson)
    np.testing.assert_array_equal(update, lesson.task.train(lesson.model, lesson.data, seed=7))
    assert honest.scored(lesson, update) is update


def test_a_forger_sells_noise_and_is_scored_by_honest_work(lesson):
    forger, honest = make_conduct(FORGED, sellers=3), make_conduct(HONEST, sellers=3).update(lesson)
    sold = forger.update(lesson)
    np.testing.assert_array_equal(np.abs(sold), np.abs(honest))
    assert abs(_cosine(sold, honest)) < 0.2
    np.testing.assert_array_equal(forger.scored(lesson, sold), honest)


def test_a_free_rider_hands_in_the_step_before(lesson):
    rider = make_conduct("free-rider", sellers=3)
    np.testing.assert_allclose(rider.update(lesson), np.full(lesson.model.size, 0.25), rtol=0, atol=1e-12)
    first = Lesson(lesson.task, lesson.data, lesson.model, None, seed=7)
    assert 0 < np.abs(rider.update(first)).max() < 0.1  # noise, where there was no step before


def test_random_signs_change_signs_only(lesson):
    noise, honest = make_conduct("sign-randomizing", sellers=3), make_conduct(HONEST, sellers=3).update(lesson)
    np.testing.assert_array_equal(np.abs(noise.update(lesson)), np.abs(honest))


def test_sybils_hand_in_one_update_in_many_names(lesson):
    other = Lesson(lesson.task, lesson.data, lesson.model, lesson.before, seed=8)
    sybil = make_conduct("sybil", sellers=3)
    np.testing.assert_array_equal(sybil.update(lesson), sybil.update(other))
    assert not np.array_equal(
        make_conduct(HONEST, sellers=3).update(lesson), make_conduct(HONEST, sellers=3).update(other)
    )


def test_an_attack_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="unknown attack 'laziness'; known: none, "):
        DemoOptions(attack="laziness")


@pytest.mark.parametrize("seed", [0, 1])
def test_the_cast_follows_from_the_seed(seed):
    data = load_dataset("digits")
    options = DemoOptions(providers=8, malicious=0.5, seed=seed)
    (root, cast), (again, same) = make_cast(options, data), make_cast(options, data)
    np.testing.assert_array_equal(root[0], again[0])
    assert [(s.name, s.behaviour, s.ask) for s in cast] == [(s.name, s.behaviour, s.ask) for s in same]
    assert sorted(s.behaviour for s in cast if s.behaviour != HONEST) == sorted(
        ["sign-randomizing", "label-flipping", FORGED, "free-rider"]
    )
    assert len({s.name for s in cast}) == 8 and all(8 * 10**15 <= s.ask < 13 * 10**15 for s in cast)
    rows = np.concatenate([root[0], *(s.rows[0] for s in cast)])
    assert len(rows) == len(data.train_y)  # every row is somebody's, once


def test_label_flipping_changes_labels_and_not_rows():
    data = load_dataset("digits")
    flipped = make_cast(DemoOptions(providers=4, malicious=0.25, attack="label-flipping"), data)[1]
    plain = make_cast(DemoOptions(providers=4, malicious=0.25, attack="sign-randomizing"), data)[1]
    for ours, theirs in zip(flipped, plain, strict=True):
        np.testing.assert_array_equal(ours.rows[0], theirs.rows[0])
        assert (ours.behaviour == "label-flipping") == (not np.array_equal(ours.rows[1], theirs.rows[1]))


def _cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
