"""Exact k-means against all partitions, and against kmeans1d."""

from itertools import combinations, pairwise

import kmeans1d
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.errors import InputError
from martfl.selection import kmeans
from martfl.selection.kmeans import best_costs

values = st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=1, max_size=12)


def cost_of(parts):
    return sum(float(np.sum((np.array(part) - np.mean(part)) ** 2)) for part in parts)


def cheapest_partition(numbers, clusters):
    """Slow and obviously correct: every way to cut the sorted numbers."""
    ordered, n = sorted(numbers), len(numbers)
    cuts = combinations(range(1, n), min(clusters, n) - 1)
    edges = ([0, *cut, n] for cut in cuts)
    return min(cost_of([ordered[a:b] for a, b in pairwise(edge)]) for edge in edges)


@given(values, st.integers(1, 5))
def test_cost_is_that_of_the_cheapest_partition(numbers, clusters):
    found = kmeans(np.array(numbers), clusters)
    assert found.cost == pytest.approx(cheapest_partition(numbers, clusters), abs=1e-9)


@given(values, st.integers(1, 5))
def test_labels_rise_with_the_values_and_centroids_are_their_means(numbers, clusters):
    numbers = np.array(numbers)
    found = kmeans(numbers, clusters)
    assert (np.diff(found.labels[np.argsort(numbers)]) >= 0).all()
    for label, centroid in enumerate(found.centroids):
        assert numbers[found.labels == label].mean() == pytest.approx(centroid)
    parts = [numbers[found.labels == label] for label in range(found.centroids.size)]
    assert cost_of(parts) == pytest.approx(found.cost, abs=1e-9)


@given(st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=5, max_size=200), st.integers(1, 4))
def test_agrees_with_kmeans1d(numbers, clusters):
    theirs = kmeans1d.cluster(numbers, clusters)
    their_parts = [[v for v, c in zip(numbers, theirs.clusters, strict=True) if c == k] for k in set(theirs.clusters)]
    assert kmeans(np.array(numbers), clusters).cost == pytest.approx(cost_of(their_parts), abs=1e-9)


def test_best_costs_are_the_costs_of_kmeans():
    numbers = np.sort(np.random.default_rng(0).uniform(-1, 1, 40))
    assert best_costs(numbers, 4) == pytest.approx([kmeans(numbers, k).cost for k in (1, 2, 3, 4)])


def test_more_clusters_than_distinct_values_gives_one_each():
    assert kmeans(np.array([0.5, 0.1, 0.5]), 3).centroids == pytest.approx([0.1, 0.5])


@pytest.mark.parametrize("unit", [5e-324, 1e-200, 1e-9, 1.0, 1e150])
def test_neither_tiny_nor_huge_numbers_confuse_it(unit):
    assert kmeans(np.array([0, 1, 7, 1, 0, 8, 0]) * unit, 2).labels.tolist() == [0, 0, 1, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("bad", "clusters", "message"),
    [
        ([], 1, r"at least one entry, got shape \(0,\)"),
        ([[0.1]], 1, r"at least one entry, got shape \(1, 1\)"),
        ([0.1, np.nan], 1, "finite, but entry 1 is nan"),
        (["x"], 1, r"real numbers, got \['x'\]"),
        ([0.1], 0, "at least one cluster, got 0"),
    ],
)
def test_refuses_bad_input(bad, clusters, message):
    with pytest.raises(InputError, match=message):
        kmeans(bad, clusters)
