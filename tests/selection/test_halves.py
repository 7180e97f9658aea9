"""Two baselines, and who is judged by which."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.selection.halves import combine, mean_direction, split_halves

GROUPS = st.lists(st.lists(st.integers(), max_size=6), max_size=5).map(
    lambda shapes: [list(range(10 * g, 10 * g + len(shape))) for g, shape in enumerate(shapes)]
)


@given(GROUPS)
def test_every_member_is_in_one_half_and_the_halves_are_alike(groups) -> None:
    left, right = split_halves(groups)
    flat = [i for half in (left, right) for group in half for i in group]
    assert sorted(flat) == sorted(i for group in groups for i in group)
    assert abs(sum(map(len, left)) - sum(map(len, right))) <= 1
    assert all(group for half in (left, right) for group in half)


def test_who_is_in_a_half_is_judged_by_the_other() -> None:
    scores = [np.array([1.0, 2.0, 3.0, np.nan]), np.array([10.0, 20.0, 30.0, 40.0])]
    assert combine(scores, {"a": 0, "b": 1}, ["a", "b", "c", "d"])[:3].tolist() == [10.0, 2.0, 16.5]
    assert np.isnan(combine(scores, {}, ["a", "b", "c", "d"])[3]), "half an answer is none"
    assert combine(scores[:1], {"a": 0}, ["a", "b", "c", "d"])[0] == 1.0, "a single baseline judges everybody"


def test_who_was_in_the_baselines_is_not_flattered_by_its_habits() -> None:
    """Every provider repeats itself from epoch to epoch; only half of them were bought."""
    rng = np.random.default_rng(0)
    truth, habits = rng.normal(size=20_000), 3 * rng.normal(size=(20, 20_000))
    before, after = (truth + habits + rng.normal(size=habits.shape) for _ in range(2))
    units = {i: row / np.linalg.norm(row) for i, row in enumerate(before[:10])}
    parts = split_halves([list(units)])
    baselines = [mean_direction(part, units) for part in parts]
    halves = {str(i): half for half, part in enumerate(parts) for group in part for i in group}
    score = lambda baseline: after @ baseline / np.linalg.norm(after, axis=1) / np.linalg.norm(baseline)  # noqa: E731
    fair = combine([score(baseline) for baseline in baselines], halves, [str(i) for i in range(20)])
    plain = score(baselines[0] + baselines[1])
    assert fair[:10].mean() == pytest.approx(fair[10:].mean(), abs=0.02)
    assert plain[:10].mean() > plain[10:].mean() + 0.1


def test_groups_count_alike_and_an_empty_half_has_no_direction() -> None:
    units = {0: np.array([1.0, 0.0]), 1: np.array([1.0, 0.0]), 2: np.array([0.0, 1.0])}
    assert mean_direction([[0, 1], [2]], units).tolist() == [0.5, 0.5]
    assert mean_direction([], units) is None
    assert mean_direction([[0, 3]], {**units, 3: np.array([-1.0, 0.0])}) is None
