"""Demos of other tasks than digits: what may be chosen, and what the hospitals' one comes to."""

import json

import pytest

from martfl.demo import run_demo
from martfl.demo.hospitals import CARELESS
from martfl.demo.options import choose, remembered_options
from martfl.errors import InputError


def test_what_is_not_chosen_is_as_the_cast_has_it():
    assert choose("digits", providers=3, epochs=None).providers == 3
    assert choose("digits", providers=None, epochs=None).epochs == 5
    hospitals = choose("hospitals", providers=None, seed=7)
    assert (hospitals.providers, hospitals.epochs, hospitals.seed) == (4, 6, 7)


def test_a_fixed_cast_cannot_be_changed_and_an_unknown_one_is_refused():
    with pytest.raises(InputError, match="hospitals has a cast of its own: attack, providers"):
        choose("hospitals", providers=3, attack="sybil", epochs=1)
    with pytest.raises(InputError, match="unknown task 'poems'; known: digits, hospitals, lora"):
        choose("poems")


def test_hospitals_sell_and_the_careless_one_has_next_to_no_share(tmp_path):
    result = run_demo(choose("hospitals", epochs=2), tmp_path)
    assert list(result.quality_start) == ["accuracy", "auc", "loss"]
    assert result.epochs[-1].quality["auc"] > result.quality_start["auc"] + 0.2
    (careless,) = [name for name, behaviour in result.providers.items() if behaviour == CARELESS]
    for epoch in result.epochs:
        assert epoch.verified
        assert epoch.weights.get(careless, 0.0) < 0.01
        bonus = epoch.paid.get(careless, 0) - epoch.prices.get(careless, 0)
        assert 0 <= bonus <= 0.01 * sum(epoch.bonus.values())
    assert result.told["Cleveland alone"].startswith("accuracy ")
    assert remembered_options(tmp_path).task == "hospitals"
    assert json.loads((tmp_path / "result.json").read_text())["measure"] == "accuracy"
