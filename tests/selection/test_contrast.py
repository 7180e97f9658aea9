"""Two kinds of deliveries: found where they are, not where they are not, and told apart by clean training."""

import numpy as np
import pytest

from martfl.selection.contrast import find_contrast, upper_group


def deliveries(*, good, bad, strength=0.5, seed=0, size=4000):
    """Directions with much noise of their own; the bad ones share one that the acquirer's own update lacks."""
    rng = np.random.default_rng(seed)
    truth, poison = (direction / np.linalg.norm(direction) for direction in rng.normal(size=(2, size)))
    rows = 0.5 * truth + rng.normal(size=(good + bad, size)) / np.sqrt(size)
    rows[good:] += strength * poison
    rows *= rng.uniform(0.5, 5.0, size=(good + bad, 1))
    return dict(enumerate(rows)), truth + rng.normal(size=size) / np.sqrt(size)


@pytest.mark.parametrize(("good", "bad"), [(9, 4), (6, 6), (3, 10)])
def test_the_kind_that_agrees_less_is_named_whichever_is_larger(good, bad) -> None:
    delivered, own = deliveries(good=good, bad=bad)
    found = find_contrast(delivered, own, deviations=2.0)
    assert found is not None and set(found.worse) == set(range(good, good + bad))
    along = np.array([row @ found.direction / np.linalg.norm(row) for row in delivered.values()])
    assert along[:good].min() > along[good:].max()
    assert np.linalg.norm(found.direction) == pytest.approx(1.0)


def test_one_kind_is_not_split() -> None:
    found = [find_contrast(*deliveries(good=12, bad=0, seed=seed), deviations=2.0) for seed in range(60)]
    assert not any(found)


def test_two_kinds_that_agree_alike_with_clean_training_are_left_alone() -> None:
    """Without evidence of which one is worse there is nothing to hold against either."""
    rng = np.random.default_rng(3)
    found = [
        find_contrast(deliveries(good=6, bad=6, seed=seed)[0], rng.normal(size=4000), deviations=3.0)
        for seed in range(40)
    ]
    assert sum(result is not None for result in found) <= 2


def test_too_few_deliveries_or_no_update_of_ones_own_say_nothing() -> None:
    delivered, own = deliveries(good=3, bad=3)
    assert find_contrast({i: delivered[i] for i in (0, 1, 3)}, own, deviations=1.0) is None
    assert find_contrast(delivered, 0.0 * own, deviations=1.0) is None
    assert find_contrast(dict.fromkeys(range(6), own), own, deviations=1.0) is None


def test_two_groups_on_a_line() -> None:
    assert upper_group(np.array([0.0, 0.1, 5.0, 5.1, 0.05])).tolist() == [False, False, True, True, False]
    assert upper_group(np.linspace(0, 1, 20)) is None
    assert upper_group(np.ones(5)) is None
