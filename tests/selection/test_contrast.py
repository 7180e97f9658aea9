"""Two kinds of deliveries: found where they are, not where they are not, and told apart by clean training."""

import numpy as np
import pytest

from martfl.selection.contrast import (
    MOST,
    Contrast,
    Verdict,
    clearly_above,
    deviations_above,
    find_contrast,
    upper_group,
    weigh,
)


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
    found = find_contrast(delivered, own)
    assert found is not None and abs(found.lean) > 2
    verdict = weigh(None, found)
    worse = found.lower if found.lean > 0 else found.upper
    assert set(worse) == set(range(good, good + bad))
    along = np.array([row @ verdict.direction / np.linalg.norm(row) for row in delivered.values()])
    assert along[:good].min() > along[good:].max()
    assert np.linalg.norm(verdict.direction) == pytest.approx(1.0)


def test_one_kind_is_not_split() -> None:
    found = [find_contrast(*deliveries(good=12, bad=0, seed=seed)) for seed in range(60)]
    assert not any(found)


def two_alike(seed: int) -> dict:
    """Two kinds of equal standing: each has something of its own besides the task."""
    rng = np.random.default_rng(seed)
    task, one, other = (direction / np.linalg.norm(direction) for direction in rng.normal(size=(3, 4000)))
    rows = 0.5 * task + rng.normal(size=(12, 4000)) / np.sqrt(4000)
    rows[:6] += 0.5 * one
    rows[6:] += 0.5 * other
    return dict(enumerate(rows))


def test_two_kinds_of_equal_standing_are_left_alone() -> None:
    """Without evidence of which one is worse there is nothing to hold against either."""
    rng = np.random.default_rng(3)
    found = [find_contrast(two_alike(seed), rng.normal(size=4000)) for seed in range(40)]
    assert sum(result is not None for result in found) > 30, "the kinds are there to be seen"
    assert sum(abs(result.lean) > 3 for result in found if result) <= 2


def test_a_shared_secret_tells_where_clean_training_cannot() -> None:
    rng = np.random.default_rng(4)
    for good, bad in ((9, 4), (4, 9)):
        for seed in range(20):
            delivered, _ = deliveries(good=good, bad=bad, strength=0.8, seed=seed)
            found = find_contrast(delivered, rng.normal(size=4000))  # an own update that knows nothing
            assert found is not None
            assert set(found.lower if found.lean > 0 else found.upper) == set(range(good, good + bad))


def test_large_data_are_no_secret() -> None:
    """Updates from more rows are more alike, but what they share the small ones share too."""
    rng = np.random.default_rng(5)
    task = rng.normal(size=4000) / np.sqrt(4000)
    noise = rng.normal(size=(12, 4000)) / np.sqrt(4000) * np.repeat([0.3, 1.5], 6)[:, None]
    found = find_contrast(dict(enumerate(task + noise)), task + rng.normal(size=4000) / np.sqrt(4000))
    assert found is not None and set(found.lower if found.lean > 0 else found.upper) == set(range(6, 12))


def test_the_only_ones_that_agree_share_no_secret() -> None:
    """Beside noise honest updates are the ones that are alike."""
    rng = np.random.default_rng(6)
    task = rng.normal(size=4000) / np.sqrt(4000)
    rows = task + rng.normal(size=(12, 4000)) / np.sqrt(4000)
    rows[6:] *= rng.choice([-1.0, 1.0], size=(6, 4000))
    found = find_contrast(dict(enumerate(rows)), task + rng.normal(size=4000) / np.sqrt(4000))
    assert found is not None and set(found.lower if found.lean > 0 else found.upper) == set(range(6, 12))


def test_too_few_deliveries_or_no_update_of_ones_own_say_nothing() -> None:
    delivered, own = deliveries(good=3, bad=3)
    assert find_contrast({i: delivered[i] for i in (0, 1, 3)}, own) is None
    assert find_contrast(delivered, 0.0 * own) is None
    assert find_contrast(dict.fromkeys(range(6), own), own) is None


AXIS = np.array([1.0, 0.0, 0.0])


def finding(direction, lean: float) -> Contrast:
    return Contrast(direction, (0,), (1,), lean)


def test_findings_about_the_same_kinds_add_up_whichever_way_they_are_written() -> None:
    verdict = weigh(weigh(None, finding(AXIS, 2.0)), finding(-AXIS, -2.0))
    assert verdict.direction.tolist() == AXIS.tolist() and verdict.findings == 2
    assert verdict.certainty == pytest.approx(4 / np.sqrt(2))


def test_one_finding_to_the_contrary_makes_a_verdict_less_certain_but_does_not_turn_it() -> None:
    known = Verdict(AXIS, 9.0, 3)
    after = weigh(known, finding(AXIS, -4.0))
    assert after.direction.tolist() == AXIS.tolist() and after.certainty < known.certainty
    turned = weigh(after, finding(AXIS, -8.0))
    assert turned.direction.tolist() == (-AXIS).tolist() and turned.total == pytest.approx(3.0)


def test_other_kinds_replace_the_known_ones_only_if_they_are_clearer() -> None:
    known, other = Verdict(AXIS, 4.0, 1), np.array([0.0, 1.0, 0.0])
    assert weigh(known, finding(other, 3.0)) is known
    replaced = weigh(known, finding(other, -5.0))
    assert replaced.direction.tolist() == (-other).tolist() and replaced.certainty == pytest.approx(5.0)


def test_deviations_of_two_groups() -> None:
    rng = np.random.default_rng(0)
    chance = [deviations_above(*rng.normal(size=(2, 5))) for _ in range(2000)]
    assert np.std(chance) == pytest.approx(1.0, abs=0.1), "without a difference they deviate by one"
    assert deviations_above(np.array([1.0]), np.array([0.0])) == 0, "two values tell nothing"
    assert deviations_above(np.ones(3), np.zeros(3)) == MOST == -deviations_above(np.zeros(3), np.ones(3))


def test_more_members_do_not_make_a_group_surer() -> None:
    a, b = np.array([1.0, 1.2] * 50), np.array([0.9, 1.1] * 50)
    assert deviations_above(a, b) > 4 and not clearly_above(a, b, 3.0)
    assert clearly_above(a + 1, b, 3.0) and not clearly_above(b, a + 1, 3.0)
    assert not clearly_above(np.array([5.0]), np.array([0.0]), 3.0), "two values have no scatter to compare with"


def test_two_groups_on_a_line() -> None:
    assert upper_group(np.array([0.0, 0.1, 5.0, 5.1, 0.05])).tolist() == [False, False, True, True, False]
    assert upper_group(np.linspace(0, 1, 20)) is None
    assert upper_group(np.ones(5)) is None
