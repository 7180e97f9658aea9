"""What a page says about how its results were made."""

import pytest

from martfl.lab.conditions import coverage, describe_conditions
from martfl.lab.late import late_gain
from martfl.lab.provenance import Provenance
from martfl.lab.tables import Outcome

H200 = Provenance("0123456789ab", "batched", "2.11.0", "NVIDIA H200")


def outcome(dataset="trec", rule="martfl", seed=0, accuracies=(), rounds=100):
    rows = [{"round": float(number), "mta": mta} for number, mta in accuracies]
    settings = {"dataset": dataset, "rule": rule, "seed": seed, "precision": "tf32", "rounds": rounds}
    return Outcome(settings, {"rounds": float(rounds)}, rows, made=H200)


def test_the_gain_is_that_of_the_last_tenth_of_the_rounds() -> None:
    run = outcome(accuracies=[(50, 10.0), (85, 70.0), (90, 72.0), (95, 73.0), (100, 75.0)])
    assert late_gain([run.rounds]) == pytest.approx(74.0 - 71.0)
    assert late_gain([run.rounds, outcome(accuracies=[(90, 50.0), (100, 50.0)]).rounds]) == pytest.approx(1.5)
    assert late_gain([outcome(accuracies=[(100, 50.0)]).rounds]) is None and late_gain([]) is None


def test_conditions_come_in_the_order_of_the_plan() -> None:
    runs = [outcome("cifar10", "median", 0, rounds=60), outcome("trec", "martfl", 1), outcome("trec", "martfl", 0)]
    plan = [outcome("trec").settings, outcome("ag-news").settings, outcome("cifar10", "median").settings]
    assert describe_conditions(plan, runs) == [
        "Rounds: trec 100, cifar10 60.",
        "Seeds: martfl 2; median 1.",
        "Made on NVIDIA H200, torch 2.11.0, tf32.",
    ]


def test_a_flat_end_is_said_as_well() -> None:
    run = outcome(accuracies=[(90, 50.0), (100, 50.0)])
    assert describe_conditions([run.settings], [run])[-1].endswith("in points: trec +0.0.")


def test_what_was_planned_and_made_is_counted_whatever_its_length() -> None:
    plan = [outcome(seed=seed).settings for seed in range(3)]
    made = [outcome(seed=0, rounds=40), outcome(seed=7)]
    assert coverage(plan, made, frozenset({"seed", "rounds", "precision"})) == (1, 3)
