"""Honest scores among bad ones: one crowd is not cut, two are, at any share of bad ones."""

import numpy as np
import pytest

from martfl.selection.crowd import best_cut, find_crowd


@pytest.mark.parametrize("size", [5, 8, 12, 19, 29])
def test_one_crowd_is_cut_about_as_seldom_as_promised(size) -> None:
    rng = np.random.default_rng(size)
    cut = [find_crowd(2.0 * rng.normal(size=size)).cut for _ in range(2000)]
    assert np.mean(cut) <= 0.02


@pytest.mark.parametrize("share", [0.2, 0.4, 0.6, 0.8])
def test_the_honest_crowd_is_found_above_the_bad_one(share) -> None:
    rng, near = np.random.default_rng(3), []
    for _ in range(100):
        bad = round(20 * share)
        crowd = find_crowd(np.concatenate([1.5 * rng.normal(size=20 - bad), 1.5 * rng.normal(size=bad) - 15.0]))
        near.append(abs(crowd.middle) < 2.0 and crowd.spread < 4.0)
    assert np.mean(near) > 0.95


def test_the_spread_is_never_below_the_noise_of_rows() -> None:
    assert find_crowd(np.zeros(10)).spread == 1.0
    assert find_crowd(np.array([0.3])).spread == 1.0


def test_two_groups_within_their_noise_are_one_crowd() -> None:
    scores = np.concatenate([np.linspace(-5, -4, 5), np.linspace(4, 5, 7)])
    assert find_crowd(scores).cut and not find_crowd(scores, np.full(12, 3.0)).cut


def test_the_noise_of_those_who_do_badly_excuses_nobody() -> None:
    scores, noise = np.concatenate([np.full(12, -8.0), np.linspace(-1, 1, 8)]), np.repeat([6.0, 1.2], [12, 8])
    crowd = find_crowd(scores, noise)
    assert crowd.cut and crowd.middle == pytest.approx(0.0) and crowd.spread == pytest.approx(1.2)
    assert find_crowd(scores[::-1], noise[::-1]) == crowd


def test_the_best_cut_is_the_best_of_all() -> None:
    values = np.sort(np.random.default_rng(0).normal(size=9))
    place, left = best_cut(values, least=2)
    costs = {at: values[:at].var() * at + values[at:].var() * (9 - at) for at in range(2, 8)}
    assert place == min(costs, key=costs.__getitem__) and left == pytest.approx(costs[place])
