"""Two kinds of deliveries: found where they are, not where they are not, and told apart by clean training."""

import numpy as np
import pytest

from martfl.selection import contrast
from martfl.selection.contrast import (
    CONFIRMS,
    MOST,
    OWN,
    SECRET,
    Contrast,
    add_up,
    clearly_above,
    deviations_above,
    stand_apart,
    upper_group,
    worse,
)


def find_contrast(delivered, own, sure, *, shares=None, known=()):
    """As in the first epoch, unless said otherwise."""
    return contrast.find_contrast(delivered, own, sure, shares=shares or {}, known=known)


def blind(means):
    """Root data on which nothing shows."""
    return np.ones((len(means), 50))


def named(rows) -> dict:
    return {f"p{i}": row for i, row in enumerate(rows)}


def blamed(found) -> set[int]:
    """Who is of the kind that a finding speaks against."""
    return {int(name[1:]) for name in (found.lower if found.lean > 0 else found.upper)}


def deliveries(*, good, bad, strength=0.5, seed=0, size=4000):
    """Directions with much noise of their own; the bad ones share one that the acquirer's own update lacks."""
    rng = np.random.default_rng(seed)
    truth, poison = (direction / np.linalg.norm(direction) for direction in rng.normal(size=(2, size)))
    rows = 0.5 * truth + rng.normal(size=(good + bad, size)) / np.sqrt(size)
    rows[good:] += strength * poison
    rows *= rng.uniform(0.5, 5.0, size=(good + bad, 1))
    return named(rows), truth + rng.normal(size=size) / np.sqrt(size)


def two_alike(*, good, bad, seed) -> tuple[dict, np.ndarray]:
    """Two kinds of equal standing: each has something of its own besides the task; and what the first one has."""
    rng = np.random.default_rng(seed)
    task, one, other = (direction / np.linalg.norm(direction) for direction in rng.normal(size=(3, 4000)))
    rows = 0.5 * task + rng.normal(size=(good + bad, 4000)) / np.sqrt(4000)
    rows[:good] += 0.5 * one
    rows[good:] += 0.5 * other
    return named(rows), one


@pytest.mark.parametrize(("good", "bad"), [(9, 4), (6, 6), (3, 10)])
def test_the_kind_that_agrees_less_is_named_whichever_is_larger(good, bad) -> None:
    found = find_contrast(*two_alike(good=good, bad=bad, seed=1), blind)
    assert found is not None and abs(found.lean) == OWN, "the own update alone says no more than that"
    assert blamed(found) == set(range(good, good + bad))


def test_the_kind_whose_model_is_right_less_often_is_named() -> None:
    """Also against the own update, which counts for less."""
    delivered, own = two_alike(good=6, bad=6, seed=1)
    others = sum(delivered[f"p{i}"] for i in range(6, 12)) / 6

    def right(means):  # one kind's model is right on 60 of 100 rows, the other one's on 35 of them
        rows = np.arange(100)
        return np.stack([rows < (60 if np.allclose(mean, others) else 35) for mean in means])

    found = find_contrast(delivered, own, right)
    assert blamed(found) == set(range(6))
    assert abs(found.lean) == pytest.approx(25 / np.sqrt(25) - OWN)


def test_one_kind_is_not_split() -> None:
    found = [find_contrast(*deliveries(good=12, bad=0, seed=seed), blind) for seed in range(60)]
    assert not any(found)


def test_two_kinds_of_equal_standing_are_left_alone() -> None:
    """Without evidence of which one is worse there is nothing to hold against either."""
    rng = np.random.default_rng(3)
    found = [find_contrast(two_alike(good=6, bad=6, seed=seed)[0], rng.normal(size=4000), blind) for seed in range(40)]
    assert sum(result is not None for result in found) > 30, "the kinds are there to be seen"
    assert all(abs(result.lean) <= OWN for result in found if result)


def test_a_shared_secret_tells_where_clean_training_cannot() -> None:
    rng = np.random.default_rng(4)
    for good, bad in ((9, 4), (4, 9), (9, 3)):
        for seed in range(20):
            delivered, _ = deliveries(good=good, bad=bad, strength=0.8, seed=seed)
            found = find_contrast(delivered, rng.normal(size=4000), blind)  # an own update that knows nothing
            assert found is not None and abs(found.lean) >= SECRET - OWN
            assert blamed(found) == set(range(good, good + bad))


@pytest.mark.parametrize(("task", "secret"), [(3.0, 1.0), (0.3, 0.6)])
def test_a_secret_shows_where_all_is_in_common_and_where_little_is(task, secret) -> None:
    """Early in training nearly all of every update is the common part, late little of the honest ones is."""
    rng = np.random.default_rng(8)
    common, hidden = rng.normal(size=(2, 4000)) / np.sqrt(4000)
    rows = task * common + rng.normal(size=(12, 4000)) / np.sqrt(4000)
    rows[7:] = 0.7 * task * common + secret * (1 + task) * hidden + rng.normal(size=(5, 4000)) / np.sqrt(4000)
    found = find_contrast(named(rows), rng.normal(size=4000), blind)
    assert blamed(found) == set(range(7, 12)) and abs(found.lean) >= SECRET - OWN


@pytest.mark.parametrize("noisy", [4, 9, 14])
def test_beside_noise_the_task_is_no_secret(noisy) -> None:
    """Honest first updates of few coordinates that matter, beside some whose signs are random."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        task = rng.normal(size=4000) * np.where(np.arange(4000) < 30, 1.0, 0.02)
        rows = task + 0.3 * rng.normal(size=(18, 4000)) * np.abs(task)
        rows[:noisy] *= rng.choice([-1.0, 1.0], size=(noisy, 4000))
        found = find_contrast(named(rows), task, blind)
        assert found is None or blamed(found) <= set(range(noisy))


def test_large_data_are_no_secret() -> None:
    """Updates from more rows are more alike, but what they share the small ones share too."""
    rng = np.random.default_rng(5)
    task = rng.normal(size=4000) / np.sqrt(4000)
    noise = rng.normal(size=(12, 4000)) / np.sqrt(4000) * np.repeat([0.3, 1.5], 6)[:, None]
    found = find_contrast(named(task + noise), task + rng.normal(size=4000) / np.sqrt(4000), blind)
    assert found is not None and blamed(found) == set(range(6, 12)) and abs(found.lean) <= OWN


def test_a_secret_is_believed_only_of_who_is_in_the_model() -> None:
    """Who the model was not made from has more in common, good or bad: it wants the same change."""
    delivered, _ = deliveries(good=8, bad=4, strength=0.8)
    own = np.random.default_rng(1).normal(size=4000)

    def lean(**of):
        found = find_contrast(delivered, own, blind, **of)
        return abs(found.lean) if blamed(found) == {8, 9, 10, 11} or not found.lean else -abs(found.lean)

    assert lean() >= SECRET - OWN, "nobody is in the model yet"
    assert lean(shares=dict.fromkeys(delivered, 0.1)) <= OWN, "four of twelve"
    assert lean(shares={f"p{i}": 0.1 for i in range(4, 12)}) >= SECRET - OWN, "as much in the model as the others"
    assert CONFIRMS - OWN <= lean(shares={"p0": 1.0}, known={"p8", "p9", "p10"}) <= CONFIRMS + OWN
    assert lean(shares={"p0": 1.0}, known={"p8", "p9"}) <= OWN


def test_an_own_update_that_likes_one_kind_little_less_says_nothing() -> None:
    """Its error moves a whole kind, by a little; who lacks what it has lacks much of it."""
    delivered, one = two_alike(good=6, bad=6, seed=1)
    task = sum(delivered.values())
    own = task / np.linalg.norm(task) + 0.15 * one
    cosines = np.array([row @ own for row in delivered.values()])
    assert deviations_above(cosines[:6], cosines[6:]) > OWN, "the difference is beyond doubt, and small"
    assert find_contrast(delivered, own, blind).lean == 0.0
    assert find_contrast(delivered, one, blind).lean != 0.0


def test_being_half_as_much_again_alike_is_no_secret() -> None:
    """In the first epoch honest updates may be so beside attackers that flip labels."""
    found = find_contrast(*deliveries(good=9, bad=4, strength=0.35), blind)
    assert found is None or abs(found.lean) <= OWN
    rng = np.random.default_rng(3)
    flipped, task = rng.normal(size=(2, 4000)) / np.sqrt(4000)
    rows = 0.65 * task + rng.normal(size=(12, 4000)) / np.sqrt(4000)
    rows[3:] = 0.5 * flipped + 0.15 * task + rng.normal(size=(9, 4000)) / np.sqrt(4000)
    found = find_contrast(named(rows), task, blind)
    assert blamed(found) == set(range(3, 12)) and abs(found.lean) == OWN


def test_two_that_are_alike_share_no_secret() -> None:
    delivered, own = deliveries(good=9, bad=2, strength=2.0)
    found = find_contrast(delivered, own, blind)
    assert found is not None and abs(found.lean) <= OWN


def test_too_few_deliveries_or_no_update_of_ones_own_say_nothing() -> None:
    delivered, own = deliveries(good=3, bad=3)
    assert find_contrast({name: delivered[name] for name in ("p0", "p1", "p3")}, own, blind) is None
    assert find_contrast(delivered, 0.0 * own, blind) is None
    assert find_contrast(dict.fromkeys(delivered, own), own, blind) is None


def test_findings_add_up_whichever_way_they_are_written() -> None:
    leans = add_up(add_up({}, Contrast(("a",), ("b",), 2.0)), Contrast(("b", "c"), ("a",), -2.0))
    assert leans == {"a": (-4.0, 2), "b": (4.0, 2), "c": (2.0, 1)}
    assert worse(leans, 4 / np.sqrt(2) - 1e-9) == {"a"} and not worse(leans, 3.0)


def test_one_finding_to_the_contrary_does_not_clear() -> None:
    leans = {"a": (-12.0, 1), "b": (12.0, 1)}
    leans = add_up(leans, Contrast(("b",), ("a",), 4.0))
    assert worse(leans, 3.0) == {"a"}
    assert not worse(add_up(leans, Contrast(("b",), ("a",), 8.0)), 3.0)


def test_credit_is_for_one_mistake() -> None:
    """Who was of the better kind ten times and then turns is not believed for ten more."""
    leans: dict = {}
    for _ in range(10):
        leans = add_up(leans, Contrast(("attacker",), ("sleeper",), SECRET))
    once = add_up(leans, Contrast(("sleeper",), ("honest",), SECRET))
    assert worse(once, 3.0) == {"attacker"}
    twice = add_up(once, Contrast(("sleeper",), ("honest",), SECRET))
    assert worse(twice, 3.0) == {"attacker", "sleeper"}


def test_somebody_new_starts_with_what_is_known_of_its_kind() -> None:
    leans = dict.fromkeys("abc", (-9.0, 2)) | dict.fromkeys("xyz", (9.0, 2))
    after = add_up(leans, Contrast(("a", "b", "c", "new"), ("x", "y", "z", "other"), 1.0))
    assert after["new"] == after["a"] == (-10.0, 3) and after["other"] == (10.0, 3)
    assert add_up(leans, Contrast(("a", "b", "new"), ("x",), 1.0))["new"] == (-1.0, 1), "two are no kind"
    read = {**leans, "a": [-9.0, 2]}  # as it comes back from JSON
    assert add_up(read, Contrast(("a", "b", "c", "new"), ("x",), 1.0))["new"] == (-10.0, 3)


def test_who_has_become_like_the_others_no_longer_stands_apart() -> None:
    delivered, _ = deliveries(good=8, bad=4)
    assert stand_apart(delivered, {"p8", "p9", "p10"}) and not stand_apart(delivered, {"p1", "p2", "p3"})
    assert not stand_apart(delivered, {"p8"}) and not stand_apart(delivered, set(delivered)), "nothing to compare"


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
