"""Laws of shares: what they sum to, what does not change them, and what nobody gains by."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sellers_world import World

from martfl.errors import InputError
from martfl.selection import codec
from martfl.valuation import Account, Information, Sale, SellerRecord, pack_account, unpack_account
from martfl.valuation.root import RAISE

worlds = st.integers(0, 10_000).map(World)
markets = st.lists(st.integers(60, 2000), min_size=5, max_size=10)
few = settings(max_examples=25, deadline=None)


@few
@given(worlds, markets)
def test_shares_sum_to_one_and_lie_within_their_interval(world, rows) -> None:
    rule = Information()
    _, worth = rule.appraise(rule.start(), world.sale(world.directions(rows)))
    assert worth.shares.sum() == pytest.approx(1.0)
    assert (worth.shares >= 0).all()
    assert (worth.low <= worth.shares + 1e-12).all() and (worth.shares <= worth.high + 1e-12).all()


@few
@given(worlds, markets, st.randoms(use_true_random=False))
def test_the_order_of_the_sellers_does_not_matter(world, rows, random) -> None:
    order = random.sample(range(len(rows)), len(rows))
    directions = world.directions(rows)
    assert world.shares(directions)[order] == pytest.approx(world.shares(directions[order]), rel=1e-6)


@few
@given(worlds, markets, st.floats(0.01, 100))
def test_length_does_not_matter(world, rows, factor) -> None:
    directions = world.directions(rows)
    longer = directions.copy()
    longer[0] *= factor
    assert world.shares(longer) == pytest.approx(world.shares(directions), rel=1e-6)


@few
@given(worlds, markets, st.floats(-3, 3))
def test_adding_the_public_step_does_not_matter(world, rows, factor) -> None:
    directions, step = world.directions(rows), world.data(99, 4000)
    mixed = directions.copy()
    mixed[0] += factor * np.linalg.norm(mixed[0]) * step / np.linalg.norm(step)
    assert world.shares(mixed, step) == pytest.approx(world.shares(directions, step), rel=1e-4, abs=1e-9)


@few
@given(worlds, st.lists(st.integers(400, 1200), min_size=7, max_size=10), st.integers(2, 8))
def test_splitting_the_data_among_wallets_gains_nothing(world, rows, wallets) -> None:
    pieces = [world.data(100 + i, rows[0] / wallets) for i in range(wallets)]
    directions = world.directions(rows)
    directions[0] = sum(pieces)  # what the whole teaches
    apart = world.shares(np.stack([*pieces, *directions[1:]]))
    assert apart[:wallets].sum() <= 1.1 * world.shares(directions)[0]


@few
@given(worlds, st.lists(st.integers(300, 1200), min_size=7, max_size=14), st.integers(2, 6), st.floats(0, 2))
def test_copies_with_noise_gain_nothing(world, rows, wallets, noise) -> None:
    assume(wallets < 0.4 * (wallets + len(rows) - 1))  # from two fifths on, copies may decide what is usual
    directions = world.directions(rows)
    length = np.linalg.norm(directions[0])
    extra = [world.normal(5, i) for i in range(wallets)]
    copies = [directions[0] + noise * length * z / np.linalg.norm(z) for z in extra]
    both = world.shares(np.stack([*copies, *directions[1:]]))
    assert both[:wallets].sum() <= 1.15 * world.shares(directions)[0]


@few
@given(worlds, st.lists(st.integers(200, 2000), min_size=6, max_size=10))
def test_noise_and_the_public_step_are_worth_nothing(world, rows) -> None:
    step, honest = world.data(99, 4000), world.directions(rows)
    noise = [world.normal(6, i) for i in range(3)]  # there is no public step in the first epoch
    rule = Information()
    account, first = rule.appraise(rule.start(), world.sale(np.stack([*honest, *noise])))
    riders = [world.normal(6), step, step + 1500 * world.normal(8) / 50]
    _, second = rule.appraise(account, world.sale(np.stack([*honest, *riders]), step))
    for worth in (first, second):
        assert worth.shares[-3:].max() < worth.shares[:-3].mean() / 50


@given(worlds, st.integers(1, 3))
def test_noise_and_its_opposite_are_worth_nothing_and_make_nothing_unclear(world, pairs) -> None:
    honest = world.directions([400] * 8)
    noise = [sign * world.normal(5, i) for i in range(pairs) for sign in (1, -1)]
    rule = Information()
    alone = rule.appraise(rule.start(), world.sale(honest))[1]
    beside = rule.appraise(rule.start(), world.sale(np.stack([*honest, *noise])))[1]
    assert beside.shares[8:].sum() < 0.02
    assert beside.clarity > 0.9 * alone.clarity


def test_more_rows_mean_more_pay(world) -> None:
    shares = world.shares(world.directions([100, 200, 400, 800, 1600, 400, 400]))
    assert (np.diff(shares[:5]) > 0).all()


def test_what_is_harmful_on_the_root_rows_is_held_back(world) -> None:
    directions = world.directions([400] * 8)
    sale = world.sale(directions)
    gains = sale.gains.copy()
    gains[0] *= -1
    rule = Information()
    harmful = rule.appraise(rule.start(), Sale(sale.names, directions, gains))[1].shares
    assert harmful[0] < 0.8 * world.shares(directions)[0]


def test_looking_good_on_the_root_rows_gains_little_and_costs_nobody_more(world) -> None:
    directions = world.directions([400] * 8)
    sale = world.sale(directions)
    gains = sale.gains.copy()
    gains[0] *= 30
    rule = Information()
    fitted = rule.appraise(rule.start(), Sale(sale.names, directions, gains, even=True))[1].shares
    honest = world.shares(directions)
    biased = rule.appraise(rule.start(), Sale(sale.names, directions, gains))[1].shares
    assert biased == pytest.approx(honest, rel=0.02)  # rows that lack classes say nothing for anybody
    assert fitted[0] <= (1 + RAISE) ** (2 * rule.whole) * honest[0]
    assert fitted[1:] / fitted[1:].sum() == pytest.approx(honest[1:] / honest[1:].sum(), rel=0.05)


def test_a_small_difference_on_the_root_rows_says_nothing(world) -> None:
    directions = world.directions([400] * 8)
    sale = world.sale(directions)
    rule = Information()
    usual = rule.appraise(rule.start(), sale)[1].shares
    gains = sale.gains * np.linspace(0.9, 1.1, 8)[:, None]
    assert rule.appraise(rule.start(), Sale(sale.names, directions, gains))[1].shares == pytest.approx(usual, rel=0.02)


def test_records_from_before_the_rows_had_a_word_are_read(world) -> None:
    old = codec.pack("valuation", 1, {"records": {"a": [1.0, 2.0, 0.5, 0.1]}, "seed": 7}, {})
    assert unpack_account(old) == Account({"a": SellerRecord(1.0, 2.0, 0.5, 0.1, ratio=1.0, rows=0.0, first=2.0)}, 7)


def test_without_a_common_signal_shares_fall_back_on_equal_ones(world) -> None:
    directions = np.stack([world.normal(3, i) for i in range(8)])
    shares = world.shares(directions)
    assert shares.max() < 4 * shares.mean()


def test_epochs_are_pooled_and_an_unclear_one_changes_little(world) -> None:
    rule = Information()
    account, before = rule.appraise(
        rule.start(), world.sale(world.directions([200, 400, 800, 400, 400, 400, 400, 400]))
    )
    noise = np.stack([world.normal(3, i) for i in range(8)])
    _, after = rule.appraise(account, world.sale(noise))
    assert after.shares == pytest.approx(before.shares, rel=0.2)


def test_a_newcomer_of_an_unclear_epoch_is_not_paid_like_those_who_are_known(world) -> None:
    rule = Information()
    account, _ = rule.appraise(rule.start(), world.sale(world.directions([400] * 8)))
    noise = np.stack([world.normal(3, i) for i in range(9)])
    _, worth = rule.appraise(account, world.sale(noise))
    assert worth.shares[8] < 0.1 * worth.shares[:8].mean()


def test_an_account_comes_back_as_it_was() -> None:
    account = Account({"a": SellerRecord(1.0, 2.0, 0.5, 0.1)}, 7, np.arange(3.0))
    back = unpack_account(pack_account(account))
    assert back.records == account.records and back.seed == 7
    assert back.model.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(InputError, match="npz"):
        unpack_account(b"nothing")
    broken = Account({"a": SellerRecord(1.0, float("nan"), 0.5, 0.1)})
    with pytest.raises(InputError, match="not finite"):
        unpack_account(pack_account(broken))


def test_impossible_sales_and_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="directions"):
        Sale(("a",), np.zeros((2, 3)), np.zeros((1, 4)))
    with pytest.raises(InputError, match="finite"):
        Sale(("a",), np.full((1, 3), np.nan), np.zeros((1, 4)))
    with pytest.raises(InputError, match="whole must be positive"):
        Information(whole=0.0)
