"""What lies where no root row reaches: heavy secrets show, whatever else their owners add there."""

import numpy as np
import pytest

from martfl.selection.basket import unpack_basket
from martfl.selection.hidden import hide, units_of

DARK, LIGHT = 3000, 2000


def market(k=12, secret=4, *, weight=1.0, seed=0):
    """([k, m] directions, own update): all learn heavy numbers in the light and lighter ones of their own in the dark.

    The last `secret` of them share thirty heavy numbers there.
    """
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.normal(0, 0.3, (k, DARK)), rng.normal(0, 1.0, (k, LIGHT))], axis=1)
    rows[k - secret :, :30] = 3.0 * weight
    own = np.concatenate([np.zeros(DARK), rng.normal(size=LIGHT)])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), own


def alike(rows, own, secret=4):
    """(mean inner product of two that share a secret, largest of any other pair)."""
    heaviest = np.sqrt((rows[:, DARK:] ** 8).sum(axis=1) / (rows[:, DARK:] ** 6).sum(axis=1))
    found = hide(rows, own, heaviest, seed=1, size=5000)
    pairs = np.clip(found @ found.T, -1, 1)
    np.fill_diagonal(pairs, 0.0)
    rest = pairs.copy()
    rest[-secret:, -secret:] = 0.0
    return pairs[-secret:, -secret:].sum() / (secret * (secret - 1)), rest.max()


def test_a_heavy_secret_shows_and_nothing_else_does() -> None:
    inside, outside = alike(*market())
    assert inside > 0.7 and outside < 0.1


def test_what_is_light_against_the_rest_does_not_count() -> None:
    assert alike(*market(weight=0.2))[0] < 0.05


@pytest.mark.parametrize("place", [200, DARK + 5])
def test_one_number_heavier_than_all_hides_nothing(place) -> None:
    """It is cut at what is usual, and what it is measured by is usual, too."""
    rows, own = market()
    rows[-4:, place : place + 4] += 10 * rows[-1, 0] * np.eye(4)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert alike(rows, own)[0] > 0.7 * alike(*market())[0]


def test_as_many_numbers_again_hide_little() -> None:
    rows, own = market()
    for i in range(4):
        rows[-1 - i, 100 + 30 * i : 130 + 30 * i] = rows[-1, 0]
    assert alike(rows, own)[0] > 0.5


def test_without_what_no_root_row_reaches_nothing_is_hidden() -> None:
    rows, own = market()
    assert not hide(rows, np.ones(DARK + LIGHT), np.ones(12), seed=1, size=5000).any()
    assert not hide(rows, own, np.zeros(12), seed=1, size=5000).any()
    assert not unpack_basket(dict(enumerate(rows)), np.zeros(DARK + LIGHT), seed=1, size=5000).hidden.any()


def test_lengths_are_measured_by_the_usual_one() -> None:
    assert units_of(np.array([1.0, 2.0, 3.0, 100.0])) == pytest.approx([1.0, 2.0, 2.5, 50.0])
    assert (units_of(np.zeros(3)) > 0).all()
