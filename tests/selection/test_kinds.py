"""Kinds are found by direction alone, exactly, and neither noise nor length makes one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from martfl.selection.kinds import (
    LEAST,
    find_cuts,
    find_hidden,
    margins,
    rank_correlation,
    separation,
    settle,
    stage,
    to_cosines,
    unlikeness,
    without_common,
)

SIZE = 3000


def updates(good, bad, *, secret=0.5, noise=1.0, seed=0):
    """Unit directions with the task in common; the bad ones share a secret besides."""
    rng = np.random.default_rng(seed)
    task, hidden = (v / np.linalg.norm(v) for v in rng.normal(size=(2, SIZE)))
    rows = 0.7 * task + noise * rng.normal(size=(good + bad, SIZE)) / np.sqrt(SIZE)
    rows[good:] += secret * hidden
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cuts(rows, lengths=None):
    return find_cuts(rows @ rows.T, np.zeros(len(rows)) if lengths is None else lengths)


def sides(found):
    return {frozenset(np.flatnonzero(cut.members).tolist()) for cut in found} | {
        frozenset(np.flatnonzero(~cut.members).tolist()) for cut in found
    }


@pytest.mark.parametrize(("good", "bad"), [(14, 5), (10, 9), (4, 15)])
def test_a_shared_secret_is_found_exactly_at_any_share(good, bad) -> None:
    found = cuts(updates(good, bad))
    assert frozenset(range(good, good + bad)) in sides(found)
    assert max(cut.crispness for cut in found) == 1.0


def test_honest_providers_come_in_no_crisp_kinds() -> None:
    crisp = [max((cut.crispness for cut in cuts(updates(19, 0, seed=seed))), default=0.0) for seed in range(40)]
    assert np.mean(np.array(crisp) > 0.5) <= 0.05


def test_noise_of_their_own_makes_no_kind_of_the_others() -> None:
    """As in framing: some add noise until they have little in common; the rest have no more in common for that."""
    rows = updates(19, 0)
    rng = np.random.default_rng(5)
    rows[12:] += 3.0 * rng.normal(size=(7, SIZE)) / np.sqrt(SIZE)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert max((cut.crispness for cut in cuts(rows)), default=0.0) < 0.5


def test_two_alike_are_no_kind() -> None:
    rows = updates(10, 2)
    assert frozenset({10, 11}) not in sides(cuts(rows))
    assert cuts(updates(3, 2)) == []


def test_length_leads_to_a_cut_only_where_the_long_ones_are_alike() -> None:
    rows, lengths = updates(15, 4, secret=0.25, noise=1.5), np.zeros(19)
    lengths[15:] = 1.2
    assert frozenset(range(15, 19)) in sides(cuts(rows, lengths))
    honest = [sides(cuts(updates(19, 0, seed=seed), lengths)) for seed in range(20)]
    assert np.mean([frozenset(range(15, 19)) in found for found in honest]) <= 0.2


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(4, 10), st.integers(3, 8))
def test_the_order_of_the_providers_does_not_matter(seed, good, bad) -> None:
    rows = updates(good, bad, seed=seed)
    order = np.random.default_rng(seed).permutation(good + bad)
    plain = sides(cuts(rows))
    shuffled = {frozenset(order[list(side)].tolist()) for side in sides(cuts(rows[order]))}
    assert plain == shuffled


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000))
def test_every_side_is_large_enough_and_apart(seed) -> None:
    rows = updates(9, 6, seed=seed, secret=0.3)
    for cut in cuts(rows):
        assert LEAST <= cut.members.sum() <= 15 - LEAST and 0.0 <= cut.crispness <= 1.0


def test_margins_leave_the_provider_itself_out() -> None:
    cosines = to_cosines(without_common(np.eye(6)))
    side = np.array([True, True, True, False, False, False])
    assert margins(cosines, side) == pytest.approx(0.0, abs=1e-12)
    assert separation(cosines, side) == pytest.approx(0.0, abs=1e-6)


def test_settling_puts_a_stray_back() -> None:
    rows = updates(8, 6)
    start = np.zeros(14, dtype=bool)
    start[[0, 8, 9, 10, 11, 12]] = True  # one honest among them, one bad missing
    assert np.flatnonzero(settle(to_cosines(without_common(rows @ rows.T)), start)).tolist() == list(range(8, 14))


# --- stages of learning ----------------------------------------------------------------------------------------------


def on_one_way(count, *, noise=0.5, seed=0):
    """(directions, log lengths) of sellers more or less far on a way that turns; the last ones are furthest."""
    rng = np.random.default_rng(seed)
    first, then = (v / np.linalg.norm(v) for v in rng.normal(size=(2, SIZE)))
    far = np.linspace(0.0, 1.0, count)[:, None]
    turned = 1 / (1 + np.exp(-12 * (far - 0.5)))
    rows = (1 - turned) * first + turned * (first + then) + noise * rng.normal(size=(count, SIZE)) / np.sqrt(SIZE)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), np.log(0.05 + 3 * far[:, 0])


@pytest.mark.parametrize("seed", range(5))
def test_who_has_come_further_is_no_kind(seed) -> None:
    rows, lengths = on_one_way(24, seed=seed)
    found = cuts(rows, lengths)
    assert any(cut.members[-6:].all() or not cut.members[-6:].any() for cut in found)
    assert all(cut.stage > 0.9 for cut in found)


@pytest.mark.parametrize("seed", range(5))
def test_a_scaled_secret_is_no_stage(seed) -> None:
    """Neither among sellers of one size, nor among those on a way, of whom the attackers are of all sizes."""
    alike, same = updates(15, 6, seed=seed), np.random.default_rng(seed).normal(0, 0.05, size=21)
    unlike, lengths = on_one_way(24, seed=seed)
    hidden = np.random.default_rng(99).normal(size=SIZE) / np.sqrt(SIZE)
    bad = np.arange(24) % 4 == 1
    unlike[bad] += hidden
    unlike /= np.linalg.norm(unlike, axis=1, keepdims=True)
    for rows, logs, members in ((alike, same, np.arange(21) >= 15), (unlike, lengths, bad)):
        assert stage(rows @ rows.T, logs + 1.2 * members, members)[0] < 0.5


def test_a_third_of_the_others_cannot_make_a_kind_look_like_a_stage() -> None:
    """Decoys of the coalition are short and unlike the kind; the honest ones are of one length."""
    rng = np.random.default_rng(3)
    rows = updates(20, 6, seed=3)
    decoys = rng.normal(size=(6, SIZE)) / np.sqrt(SIZE)
    rows = np.concatenate([rows, decoys / np.linalg.norm(decoys, axis=1, keepdims=True)])
    lengths = np.concatenate([rng.normal(0, 0.05, size=20), np.full(6, 1.2), np.linspace(-3, -2, 6)])
    members = np.isin(np.arange(32), range(20, 26))
    assert stage(rows @ rows.T, lengths, members)[0] < 0.5


def test_few_others_tell_of_no_stage() -> None:
    rows, lengths = on_one_way(8)
    assert stage(rows @ rows.T, lengths, np.arange(8) >= 3)[0] == 0.0
    assert stage(rows @ rows.T, np.zeros(8), np.arange(8) >= 6)[0] == 0.0


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=12))
def test_a_rank_correlation_is_spearmans_and_nothing_where_values_are_constant(pairs) -> None:
    a, b = np.array(pairs, dtype=float).T
    wanted = spearmanr(a, b).statistic if np.ptp(a) and np.ptp(b) else 0.0
    assert rank_correlation(a, b) == pytest.approx(wanted, abs=1e-12)


def test_a_cut_says_which_side_is_the_longer() -> None:
    rows, longer = updates(12, 6), np.arange(18) >= 12
    lengths = np.where(longer, 1.0, np.linspace(-0.5, 0.0, 18))
    found = cuts(rows, lengths)
    assert found and all(cut.longer == bool(cut.members[-1]) for cut in found)
    assert stage(rows @ rows.T, lengths, longer)[1] and not stage(rows @ rows.T, lengths, ~longer)[1]


def test_sellers_of_other_classes_are_unlike_and_those_of_the_same_are_not() -> None:
    rng = np.random.default_rng(0)
    alike = to_cosines(without_common(np.full((12, 12), 0.3) + 0.7 * np.eye(12)))
    assert unlikeness(alike) == pytest.approx(0.3)
    classes = rng.normal(size=(12, 5)) @ rng.normal(size=(5, 400))
    assert unlikeness(to_cosines(classes @ classes.T)) == 1.0


@pytest.mark.parametrize("k", [3, 5, 6])
def test_a_hidden_kind_needs_others_beside_it(k) -> None:
    assert find_hidden(np.eye(k), np.eye(k)) == []
    assert find_hidden(np.eye(k), np.zeros((k, k))) == []


def test_noise_of_others_makes_no_hidden_kind_of_sellers_of_the_same_classes() -> None:
    """Who blurs its own numbers where no root row reaches is unlike all others there, and frames nobody by that."""
    same = np.arange(18) % 2 == 0
    classes = np.where(same[:, None] == same, 0.5, 0.1)
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.08, (18, 18))
    gram = classes + (noise + noise.T) / 2
    hidden = gram.copy()
    np.fill_diagonal(gram, 1.0)
    blurred = np.flatnonzero(~same)[:5]
    hidden[blurred] = hidden[:, blurred] = 0.0
    np.fill_diagonal(hidden, 1.0)
    assert all(cut.hidden < 3.0 * 0.8 for cut in find_hidden(gram, hidden))
    secret = np.arange(18) < 6
    hidden[np.ix_(secret, secret)] = 0.9
    (found,) = find_hidden(gram, hidden)
    assert (found.members == secret).all() and found.hidden > 5.0 * 0.8
