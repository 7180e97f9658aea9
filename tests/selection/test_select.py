"""Algorithm 1 on constructed scores: the paper's three distributions, its weights, its β rule, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.errors import InputError
from martfl.selection import Distribution, Role, select

GATHERED = [0.80, 0.81, 0.82, 0.80, 0.81]
HIGH, MIDDLE, LOW = [0.90, 0.91, 0.89, 0.92, 0.90], [0.60, 0.61, 0.62, 0.60], [0.10, 0.12, 0.11, 0.09]
MULTIPLE = HIGH + MIDDLE + LOW


def choose(scores, seed=0, **options):
    return select(scores, rng=np.random.default_rng(seed), **options)


def test_gathered_scores_are_all_high_quality():
    selection = choose(GATHERED)
    assert selection.clusters.distribution is Distribution.GATHERED
    assert selection.having(Role.HIGH_QUALITY) == (0, 1, 2, 3, 4)
    assert selection.weights == pytest.approx([0.2] * 5)


def test_differences_within_the_threshold_mean_nothing():
    two_groups = [0.80, 0.801, 0.802, 0.803, 0.840, 0.841, 0.842, 0.843]
    assert choose(two_groups).clusters.distribution is Distribution.GATHERED
    assert choose(two_groups, threshold=0.01).having(Role.DROPPED) == (0, 1, 2, 3)


def test_scattered_scores_are_split_in_two():
    scores = np.random.default_rng(3).normal(0.4, 0.1, 20)
    selection = choose(scores)
    assert selection.clusters.distribution is Distribution.SCATTERED
    assert selection.clusters.centroids.size == 2
    assert scores[list(selection.having(Role.HIGH_QUALITY))].min() > scores[list(selection.having(Role.DROPPED))].max()
    assert selection.weights[list(selection.having(Role.HIGH_QUALITY))] == pytest.approx(
        1 / len(selection.having(Role.HIGH_QUALITY))
    )


def test_several_clusters_keep_the_top_weigh_the_middle_and_drop_the_low():
    selection = choose(MULTIPLE)
    assert selection.clusters.distribution is Distribution.MULTIPLE
    assert selection.clusters.centroids.size == 3
    assert selection.having(Role.HIGH_QUALITY) == (0, 1, 2, 3, 4)
    assert selection.having(Role.QUALIFIED) == (5, 6, 7, 8)
    assert selection.having(Role.DROPPED) == (9, 10, 11, 12)


def test_qualified_weights_follow_the_formula():
    selection, scores = choose(MULTIPLE), np.array(MULTIPLE)
    best = np.mean(HIGH)
    raw = np.zeros(13)
    raw[:5] = 1.0
    raw[5:9] = 1.0 - np.abs(scores[5:9] - best) / np.abs(scores - best).max()
    assert selection.weights == pytest.approx(raw / raw.sum())


def test_baseline_provider_has_no_weight_and_does_not_shift_the_clusters():
    alone, beside = choose(MULTIPLE), choose([*MULTIPLE, 1.0], baseline=13)
    assert beside.baseline == 13 and beside.weights[13] == 0.0
    assert beside.roles[:13] == alone.roles
    assert beside.weights[:13] == pytest.approx(alone.weights)
    assert beside.having(Role.BASELINE) == (13,)


def test_baseline_has_no_weight_among_gathered_scores_either():
    selection = choose([*GATHERED, 1.0], baseline=5)
    assert selection.clusters.distribution is Distribution.GATHERED
    assert selection.weights == pytest.approx([0.2] * 5 + [0.0])


def test_candidates_are_a_share_of_the_rest_when_few_are_good():
    scores = [0.9, 0.91, 0.92] + [0.1, 0.11, 0.12] * 4  # |P1| = 3 < 15/2, P2 empty
    selection = choose(scores, candidate_share=0.25)
    assert selection.having(Role.QUALIFIED) == ()
    assert len(selection.having(Role.CANDIDATE)) == 3  # a quarter of 12
    assert set(selection.having(Role.CANDIDATE)) <= set(range(3, 15))
    assert selection.weights[list(selection.having(Role.CANDIDATE))] == pytest.approx(0.0)


def test_no_candidates_when_half_are_good_or_some_are_qualified_or_none_are_wanted():
    assert choose([0.9, 0.91] * 5 + [0.1, 0.12] * 5).having(Role.CANDIDATE) == ()
    assert choose(HIGH[:2] + [0.6, 0.61, 0.62] + [0.1, 0.11, 0.12] * 3).having(Role.CANDIDATE) == ()
    assert choose([0.9, 0.91, 0.92] + [0.1, 0.11] * 6, candidate_share=0.0).having(Role.CANDIDATE) == ()


def test_candidates_are_never_the_current_baseline():
    scores = [1.0, 0.9, 0.91, *([0.1, 0.11] * 4)]
    for seed in range(20):
        assert 0 not in choose(scores, seed, baseline=0, candidate_share=1.0).having(Role.CANDIDATE)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.booleans(), st.integers(0, 99))
def test_laws(scores, has_baseline, seed):
    baseline = seed % len(scores) if has_baseline else None
    selection = choose(scores, seed, baseline=baseline)
    assert (selection.weights >= 0).all()
    only_the_baseline = len(scores) == 1 and has_baseline
    assert selection.weights.sum() == pytest.approx(0.0 if only_the_baseline else 1.0)
    kept = {Role.HIGH_QUALITY, Role.QUALIFIED}
    assert all((weight > 0) <= (role in kept) for weight, role in zip(selection.weights, selection.roles, strict=True))
    assert all(selection.reason(i) for i in range(len(scores)))
    again = choose(scores, seed, baseline=baseline)
    assert again.roles == selection.roles and (again.weights == selection.weights).all()


@pytest.mark.parametrize(
    ("scores", "kept"),
    [([0.4], (0,)), ([0.5, 0.5], (0, 1)), ([0.1, 0.9], (1,)), ([0.50, 0.52], (0, 1)), ([0.0] * 6, tuple(range(6)))],
)
def test_few_or_equal_providers_have_a_defined_result(scores, kept):
    assert choose(scores).having(Role.HIGH_QUALITY) == kept


def test_rounding_beyond_one_is_clipped():
    assert choose([1.00005, 0.99]).scores.max() == 1.0


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ([], {}, r"at least one entry, got shape \(0,\)"),
        ([[0.1, 0.2]], {}, r"at least one entry, got shape \(1, 2\)"),
        (["a"], {}, r"real numbers, got \['a'\]"),
        ([0.1j], {}, "real numbers, got"),
        ([0.1, np.nan], {}, "finite, but entry 1 is nan"),
        ([np.inf, 0.1], {}, "finite, but entry 0 is inf"),
        ([0.1, -1.01], {}, r"provider 1 has -1.01"),
        ([0.1, 0.2], {"baseline": 2}, "baseline must name one of 2 providers by its index, got 2"),
        ([0.1, 0.2], {"baseline": -1}, "got -1"),
        ([0.1, 0.2], {"baseline": 0.5}, "by its index, got 0.5"),
        ([0.1], {"rule": "nobody"}, "unknown selection rule 'nobody'; known: martfl"),
        ([0.1], {"threshold": -0.1}, "threshold must lie"),
        ([0.1], {"candidate_share": 1.1}, "candidate_share must lie"),
        ([0.1], {"max_clusters": 0}, "max_clusters must be"),
        ([0.1], {"max_clusters": 2.5}, "whole number of at least 1, got 2.5"),
    ],
)
def test_refuses_bad_input(scores, options, message):
    with pytest.raises(InputError, match=message):
        choose(scores, **options)


def test_refuses_a_missing_source_of_randomness():
    with pytest.raises(InputError, match="rng must be a numpy Generator"):
        select([0.1, 0.2], rng=None)


# Values that lie close, lie far apart or differ by rounding only: ties and underflow, if anywhere.
awkward = st.sampled_from([-1.0, 0.0, 5e-324, 1e-300, 1e-160, 1e-9, 0.3, 0.3 + 1e-16, 0.3 + 1e-12, 0.7, 1.0])


@given(st.lists(awkward, min_size=1, max_size=14), st.sampled_from([0.0, 1e-300, 0.05]), st.integers(1, 6))
def test_equal_scores_are_treated_equally(scores, threshold, most):
    selection = choose(scores, threshold=threshold, max_clusters=most, candidate_share=0.0)
    verdicts = {(score, selection.roles[i], selection.weights[i]) for i, score in enumerate(scores)}
    assert len(verdicts) == len(set(scores))
    assert selection.weights.sum() == pytest.approx(1.0)
