"""Laws that hold for every way to pay, and what tells them apart."""

from functools import partial

import numpy as np
import pytest
import torch

from martfl.errors import InputError
from martfl.lab.config import make_config
from martfl.lab.payment import sellers as by
from martfl.lab.payment.market import make_market, run_market, train_round
from martfl.lab.payment.truth import Curve, draw_groups, shapley, true_worth
from martfl.lab.randomness import stream
from martfl.lab.rules import make_rule
from martfl.lab.runtime import Runtime
from martfl.lab.valuers import VALUERS, make_valuer
from martfl.lab.valuers.ours import ByRule


def honest(data, split, parts, rng):
    return by.honest(parts)


def noisy(data, split, parts, rng):
    return by.noisy(parts, most=0.6, classes=data.num_classes, rng=rng)


def parts_only(make):
    return lambda data, split, parts, rng: make(parts)


def market(make=honest, **changes):
    settings = {"dataset": "digits", "rule": "evidence", "rounds": 5, "participants": 9, **changes}
    return make_market(make_config(settings), make, Runtime())


def pay_of_first(make, name="information", **changes):
    paid = run_market(market(make, **changes), {name: make_valuer(name), "size": make_valuer("size")}, driver="size")
    return paid.by_owner(name)[0]


@pytest.mark.parametrize("name", sorted(VALUERS))
def test_weights_are_shares_and_repeat(name) -> None:
    ready = market(rounds=2)
    first, again = (run_market(ready, {name: make_valuer(name)}, driver=name) for _ in range(2))
    assert first.pay[name].sum(axis=1) == pytest.approx(np.ones(2))
    assert (first.pay[name] >= 0).all()
    assert np.array_equal(first.pay[name], again.pay[name])


@pytest.mark.parametrize("name", sorted(set(VALUERS) - {"equal", "size"}))
def test_wrong_labels_are_paid_less(name) -> None:
    paid = run_market(market(noisy, rounds=8), {name: make_valuer(name), "equal": make_valuer("equal")}, driver="equal")
    good = np.array([wallet.good for wallet in paid.wallets])
    ranks = [np.argsort(np.argsort(values)) for values in (paid.by_owner(name), good)]
    assert np.corrcoef(*ranks)[0, 1] > 0.3


def test_a_seller_gains_by_splitting_with_equal_shares_and_not_with_ours() -> None:
    split = parts_only(partial(by.split_first, wallets=4))
    assert pay_of_first(split, "equal") > 2.5 * pay_of_first(honest, "equal")
    assert pay_of_first(split) < 1.1 * pay_of_first(honest)


@pytest.mark.parametrize(
    "craft",
    [by.scaled(3.0), by.scaled(0.3), by.aligned_noise, by.with_public, by.with_noise(1.0)],
    ids=["longer", "shorter", "aligned noise", "public step", "noise"],
)
def test_dressing_an_update_up_gains_nothing(craft) -> None:
    assert pay_of_first(parts_only(partial(by.craft_first, craft=craft))) <= 1.05 * pay_of_first(honest)


@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_a_free_rider_gets_less_than_a_fiftieth(noise) -> None:
    rider = parts_only(partial(by.craft_first, craft=by.last_step(noise)))
    assert pay_of_first(rider) < 1 / 8 / 50


def test_a_parrot_trains_on_what_the_model_says() -> None:
    ready = market(parts_only(by.parrot_first), rounds=1)
    before = ready.clients.shards.y[: len(ready.wallets[0].rows.y)].clone()
    train_round(ready, ready.model.start(stream(0, "model")), 0)
    after = ready.clients.shards.y[: len(ready.wallets[0].rows.y)]
    assert (before != after).any()
    assert pay_of_first(parts_only(by.parrot_first)) < 0.5 * pay_of_first(honest)


def test_a_rule_of_the_lab_pays_by_its_weights() -> None:
    paid = run_market(market(rounds=2), {"evidence": ByRule(make_rule("evidence"))}, driver="evidence")
    assert (paid.pay["evidence"] == 0).any()  # not everybody has its turn
    with pytest.raises(InputError, match="unknown value 'fair'"):
        make_valuer("fair")


def test_least_squares_find_the_shapley_values_of_an_additive_game_exactly() -> None:
    values = np.array([0.1, -0.2, 0.3, 0.4, 0.05, 0.0])
    groups, weights = draw_groups(6, 40, np.random.default_rng(0))
    worth = np.array([values[list(group)].sum() for group in groups])
    assert shapley(6, groups, weights, worth, total=values.sum()) == pytest.approx(values)


def test_a_curve_pays_equal_sizes_alike_and_more_rows_more() -> None:
    sizes = np.array([100, 100, 400, 50])
    groups = [frozenset(group) for group in ([0], [2], [3], [0, 1], [0, 2], [1, 2, 3], [0, 1, 2, 3])]
    curve = Curve.fit(sizes, groups, np.log(np.array([sizes[list(group)].sum() for group in groups])))
    found = curve.shapley(np.random.default_rng(0))
    assert found[0] == pytest.approx(found[1], rel=0.1)
    assert found[2] > found[0] > found[3]
    assert found.sum() == pytest.approx(curve.worth(frozenset(range(4))))


def test_true_worth_falls_with_wrong_labels() -> None:
    ready = market(noisy, participants=6)
    found = true_worth(ready, groups=40, epochs=8, runtime=Runtime())
    good = np.array([wallet.good for wallet in ready.wallets])
    assert found[np.argmax(good)] > found[np.argmin(good)]


def test_wallets_of_opposite_noise_earn_nothing() -> None:
    assert pay_of_first(parts_only(partial(by.paired_noise, pairs=2))) <= 1.1 * pay_of_first(honest)


def test_who_takes_its_own_noise_out_hands_in_the_change_and_the_public_step() -> None:
    update, last, before = (torch.randn(5, generator=torch.Generator().manual_seed(i)) for i in range(3))
    seen = by.Trained(update, last, before, torch.Generator())
    assert torch.allclose(by.without_own()(seen), update - (before - last))
    assert torch.allclose(by.without_own(0.5)(seen), update - (before - last) / 2)
    assert by.without_own()(by.Trained(update, None, None, torch.Generator())) is update


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_who_takes_its_own_noise_out_gains_nothing_by_it(share) -> None:
    cheat = parts_only(partial(by.craft_first, craft=by.without_own(share)))
    usual = pay_of_first(honest, participants=13, rounds=8)
    assert pay_of_first(cheat, participants=13, rounds=8) <= 1.1 * usual
