"""From updates and a judge to weights, and what a seller is told."""

import numpy as np
import pytest
from sellers_world import World

from martfl.valuation import Account, Appraisal, Information, appraisals, brief, brief_share, statement, value_updates
from martfl.valuation.survey import public_steps


class Judge:
    """Rows that lose by the squared distance of the model from the signal, seen from each row a little differently."""

    def __init__(self, world: World) -> None:
        self.world, self.judged = world, 0
        self.targets = world.signal + 0.1 * np.stack([world.normal(4, i) for i in range(40)]) / 55

    def __call__(self, models):
        self.judged += len(models)
        return np.array([-((self.targets - model) ** 2).sum(axis=1) for model in models])


def sell(world, updates, account=None, model=None, judge=None, **options):
    rule = Information()
    return value_updates(
        rule,
        account or rule.start(),
        names=[str(i) for i in range(len(updates))],
        updates=updates,
        model=np.zeros(len(world.signal)) if model is None else model,
        goodness=judge or Judge(world),
        rng=np.random.default_rng(0),
        **options,
    )


def updates_of(world, rows):
    return [0.3 * row / np.linalg.norm(row) for row in world.directions(rows)]


def test_what_sellers_add_sums_to_what_the_model_gains(world) -> None:
    updates, judge = updates_of(world, [400] * 6), Judge(world)
    account, first = sell(world, updates, judge=judge)
    _, again = sell(world, updates, account=account, judge=judge)  # at the same model: the shares are those of before
    model = sum(w * u for w, u in zip(again.weights, updates, strict=True))
    before, after = judge([np.zeros_like(model), model]).mean(axis=1)
    assert again.added.sum() == pytest.approx(after - before, rel=0.05)
    assert (first.added_error > 0).all()


def test_judging_costs_one_model_for_each_seller_and_two_more(world) -> None:
    judge = Judge(world)
    account, valued = sell(world, updates_of(world, [400] * 6), judge=judge)
    assert judge.judged == 7
    moved = 0.1 * world.signal
    sell(world, updates_of(world, [400] * 6), account=account, model=moved, judge=judge)
    assert judge.judged == 7 + 8
    assert valued.weights.sum() == pytest.approx(1.0)


def test_scaling_up_loses_and_scaling_down_gains_nothing(world) -> None:
    updates = updates_of(world, [400] * 8)
    honest = sell(world, updates)[1].weights[0]
    for factor, most in ((10.0, 0.5), (0.1, 1.05), (1.4, 1.05)):
        changed = [factor * updates[0], *updates[1:]]
        assert sell(world, changed)[1].weights[0] <= most * honest


def test_an_update_that_breaks_the_model_is_no_gain(world) -> None:
    updates = updates_of(world, [400] * 5)
    found = sell(world, [*updates, np.full_like(updates[0], 1e150)])[1]
    assert np.isfinite(found.weights).all() and found.weights[-1] < 1e-3


def test_nobody_kept_is_nobody_paid(world) -> None:
    account, valued = sell(world, [])
    assert valued.weights.size == 0 and account.model is None


def test_after_an_epoch_without_sales_the_last_step_is_still_public(world) -> None:
    """Who comes then knows it, and is a newcomer like any other."""
    updates = updates_of(world, np.full(8, 100.0))
    account, valued = sell(world, updates)
    moved = sum(weight * update for weight, update in zip(valued.weights, updates, strict=True))
    paused, _ = sell(world, [], account, moved)
    assert np.array_equal(public_steps(paused, moved), [moved]) and paused.records == account.records
    late, _ = sell(world, [*updates, updates[0] + 0.1 * updates[1]], paused, moved)
    assert late.records["8"].first == 0.0 < late.records["0"].first


def told(world, updates):
    valued = sell(world, updates)[1]
    return appraisals(valued)[0], float(valued.weights[0])


def test_a_seller_is_told_what_it_added_and_why_it_gets_its_share(world) -> None:
    updates = updates_of(world, [400] * 8)
    plain, weight = told(world, updates)
    said = statement(plain, weight=weight)
    assert plain.sound
    assert (
        f"your update added {brief(plain)}." in said and f"yours holds {brief_share(plain)}, and your part of" in said
    )
    long, weight = told(world, [10 * updates[0], *updates[1:]])
    assert f"part of the bonus is {100 * weight:.1f} %: the selection weighed your update less" in statement(
        long, weight=weight
    )


def test_few_sellers_are_told_that_little_is_known(world) -> None:
    few, weight = told(world, updates_of(world, [400] * 3))
    assert "tell little about their sellers yet" in statement(few, weight=weight / 2)
    assert few.low < few.share / 3 and few.high > 2 * few.share  # an equal share, for want of knowledge


@pytest.mark.parametrize(
    ("added", "error", "words"),
    [
        (0.0979, 0.0081, "+0.098 (+0.085 to +0.111)"),
        (0.002, 0.0012, "+0.002 (+0.000 to +0.004)"),
        (-1.5, 0.6, "-1.50 (-2.49 to -0.51)"),
        (1e-9, 1e-10, "+0.000000 (+0.000000 to +0.000000)"),
        (0.25, 0.0, "+0.250000 (+0.250000 to +0.250000)"),
    ],
)
def test_what_was_added_has_as_many_places_as_are_known(added, error, words) -> None:
    assert brief(Appraisal(added=added, error=error, share=0.5, low=0.4, high=0.6, clarity=0.9)) == words


@pytest.mark.parametrize("wrong", [{"added": np.nan}, {"low": 0.6}, {"high": 1.1}, {"error": -1.0}, {"clarity": 2.0}])
def test_numbers_that_make_no_sense_are_not_sound(wrong) -> None:
    sound = {"added": 0.1, "error": 0.01, "share": 0.5, "low": 0.4, "high": 0.6, "clarity": 0.9}
    assert Appraisal(**sound).sound
    assert not Appraisal(**{**sound, **wrong}).sound


def test_the_step_before_the_last_is_public_too(world) -> None:
    old, new = 0.1 * world.signal + 0.3 * world.normal(50) / 50, 0.1 * world.normal(51) / 50
    account = Account(model=old, earlier=np.zeros_like(old))
    public = sell(world, [*updates_of(world, [400] * 10), old.copy()], account=account, model=old + new)[1]
    assert public.weights[-1] < 0.02


def test_a_model_that_stood_still_keeps_its_steps_public(world) -> None:
    account = Account(model=world.signal, earlier=np.zeros_like(world.signal))
    after, _ = sell(world, updates_of(world, [400] * 8), account=account, model=world.signal.copy())
    assert np.array_equal(public_steps(after, world.signal), [world.signal])
