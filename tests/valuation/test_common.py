"""Loadings and information from cosines alone."""

import numpy as np
import pytest

from martfl.valuation.common import find_common, information


def common_of(world, directions):
    units = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return find_common(units @ units.T, world.gains(directions).mean(axis=1))


def test_information_grows_with_the_rows_behind_an_update(world) -> None:
    rows = np.array([50, 100, 200, 400, 800, 1600, 300, 600])
    found = common_of(world, world.directions(rows)).information
    slope, _ = np.polyfit(np.log(rows), np.log(found), 1)
    assert slope == pytest.approx(1.0, abs=0.15)


def test_a_clear_market_has_a_small_error_and_one_without_signal_a_large_one(world) -> None:
    clear = common_of(world, world.directions([500] * 8))
    noise = common_of(world, np.stack([world.normal(3, i) for i in range(8)]))
    assert clear.error < 0.2 < 1.0 < noise.error


def test_copies_stand_together_and_nobody_vouches_for_them(world) -> None:
    directions = world.directions([400] * 8)
    alone = common_of(world, directions)
    copied = common_of(world, np.concatenate([directions, directions[:1], directions[:1]]))
    assert copied.alone[[0, 8, 9]] == pytest.approx(np.full(3, 1 / 3), rel=0.25)
    assert copied.alone[1:8].min() > 0.7
    assert copied.information[0] < 1.3 * alone.information[0]


def test_sellers_that_share_a_secret_are_not_taken_for_the_signal(world) -> None:
    secret = world.normal(9) / np.sqrt(50)  # much longer than the signal, and without any gain on the root rows
    directions = world.directions([400] * 10)
    directions[:3] = 0.2 * directions[:3] + 400 * secret
    found = common_of(world, directions)
    assert (found.information * found.alone)[:3].sum() < 0.2 * (found.information * found.alone)[3:].mean()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_sellers_give_numbers_all_the_same(world, count) -> None:
    found = common_of(world, world.directions([300] * count))
    assert np.isfinite(found.loadings).all() and np.isfinite(found.error)


def test_no_signal_is_no_information() -> None:
    assert information(np.array([0.0, 0.001, 0.5])).tolist() == [0.0, 0.0, pytest.approx(1 / 3)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("few", [2, 4])
def test_a_start_that_a_few_have_made_does_not_choose_the_signal(seed, few) -> None:
    rng = np.random.default_rng(seed)
    signal, other = rng.normal(size=(2, 2000))
    honest = signal - 0.3 * other + 0.6 * rng.normal(size=(12, 2000))
    directions = np.concatenate([honest, other + rng.normal(size=(few, 2000))])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    told = directions @ other  # the root rows speak for the few alone
    found = find_common(directions @ directions.T, told)
    assert found.loadings[:12].min() > 0.7 and found.loadings[12:].max() < 0.3


def worth_of(world, directions):
    found = common_of(world, directions)
    return found.information * found.alone


@pytest.mark.parametrize("sellers", [2, 3, 4])
def test_sellers_that_mix_their_updates_hold_no_more_together(world, sellers) -> None:
    directions = world.directions([400] * 14)
    mixed = directions.copy()
    mixed[:sellers] = (directions[:sellers] + directions[:sellers].mean(axis=0)) / 2
    before, after = worth_of(world, directions), worth_of(world, mixed)
    gain = (after[:sellers].sum() / after.sum()) / (before[:sellers].sum() / before.sum())
    assert gain <= 1.15
    assert common_of(world, mixed).alone[:sellers].max() < 0.8 < common_of(world, mixed).alone[sellers:].min()


def test_noise_of_a_few_directions_makes_nobody_a_copy(world) -> None:
    ways = np.stack([world.normal(5, i) for i in range(6)]) / np.sqrt(3000)
    parts = np.random.default_rng(0).normal(size=(15, 6))  # as sellers differ by how much they have of each class
    alone = common_of(world, world.directions([400] * 15) + 120 * parts @ ways).alone
    assert np.median(alone) > 0.8


def test_wallets_of_noise_do_not_decide_what_is_usual(world) -> None:
    directions = world.directions([400] * 12)
    noise = np.stack([world.normal(3, i) for i in range(8)])
    before, after = worth_of(world, directions), worth_of(world, np.concatenate([directions, noise]))[:12]
    assert after / after.sum() == pytest.approx(before / before.sum(), rel=0.1)


@pytest.mark.parametrize("wallets", [6, 8])
def test_wallets_without_data_that_share_a_secret_are_not_the_signal(world, wallets) -> None:
    secret = world.normal(9)
    clique = np.stack([secret + 0.5 * world.normal(8, i) for i in range(wallets)])
    worth = worth_of(world, np.concatenate([world.directions([400] * 12), clique]))
    assert worth[12:].sum() < 0.3 * worth[:12].mean()
