"""The gap statistic finds what is there and does not depend on shift, scale or order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.errors import InputError
from martfl.selection import gap_statistic


def found(scores, seed=0, **options):
    return gap_statistic(np.asarray(scores), rng=np.random.default_rng(seed), **options).clusters


@pytest.mark.parametrize("size", [20, 30])
@pytest.mark.parametrize("clusters", [1, 2, 3, 4])
def test_finds_well_separated_clusters(clusters, size):
    hits = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        centres = rng.permutation([-0.3, 0.0, 0.3, 0.6])[:clusters]
        scores = np.concatenate([rng.normal(centre, 0.02, size // clusters) for centre in centres])
        hits += found(scores, seed) == clusters
    assert hits >= 95


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=30),
    st.floats(-0.5, 0.5),
    st.floats(0.01, 100),
    st.randoms(use_true_random=False),
)
def test_shift_scale_and_order_do_not_matter(numbers, shift, scale, random):
    scores = np.array(numbers) / 1000
    shuffled = numbers.copy()
    random.shuffle(shuffled)
    assert found(scores) == found(scores * scale + shift) == found(np.array(shuffled) / 1000)


def test_never_more_than_asked_for():
    scores = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 6) + np.tile([0.0, 0.001], 15)
    assert found(scores, max_clusters=3) <= 3
    assert found(scores, max_clusters=1) == 1


@pytest.mark.parametrize("scores", [[0.3], [0.1, 0.9], [0.5] * 10])
def test_too_little_to_tell_apart_is_one_cluster(scores):
    assert found(scores) == 1


def test_two_exact_values_are_two_clusters():
    assert found([0.1] * 5 + [0.8] * 5) == 2


@pytest.mark.parametrize("scores", [[], [np.nan, 0.1], [np.inf], [[0.1, 0.2]]])
def test_refuses_bad_scores(scores):
    with pytest.raises(InputError, match=r"scores must be (finite|a vector)"):
        found(scores)


@pytest.mark.parametrize("options", [{"max_clusters": 0}, {"references": 1}])
def test_refuses_bad_options(options):
    with pytest.raises(InputError, match="at least"):
        found([0.1, 0.2], **options)


def test_no_more_than_four_clusters_are_found_unless_more_are_allowed():
    scores = np.concatenate([np.random.default_rng(i).normal(centre, 0.005, 6) for i, centre in enumerate(range(6))])
    assert found(scores) <= 4 and found(scores, max_clusters=6) == 6
