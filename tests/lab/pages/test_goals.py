"""Goals of experiments: who is held against whom, seed by seed, and what the page says of it."""

import pytest

from martfl.errors import InputError
from martfl.lab.goals import Goal, judge, read_goals
from martfl.lab.tables import Outcome, TableSpec

SPEC = TableSpec(("dataset", "rule"), ("attack",), ("mta",))
GOAL = Goal(("evidence", "median"), "oracle", below=2, above=10)


def run(rule, mta, asr=None, *, seed=0, dataset="trec", attack="backdoor", **more):
    return Outcome({"dataset": dataset, "attack": attack, "rule": rule, "seed": seed}, {"mta": mta, "asr": asr}, **more)


def told(goal, outcomes):
    return list(judge(goal, SPEC, [o.settings for o in outcomes], outcomes))


def test_means_and_seeds_are_judged_apart() -> None:
    runs = [run("evidence", 70.0, 5.0), run("oracle", 71.0, 1.0),
            run("evidence", 60.0, 30.0, seed=1), run("oracle", 61.0, 15.0, seed=1)]  # fmt: skip
    words, table = told(GOAL, runs)
    assert words.endswith("at most 2 points of accuracy below, attack success at most 10 above. Met in 1 of 1 markets.")
    assert table.splitlines()[2] == "| trec | backdoor | evidence | 65.0 / 66.0 | 17.5 / 8.0 | 1 of 2 | met |"


def test_a_mean_that_misses_either_figure_is_missed() -> None:
    lost = [run("evidence", 68.0), run("oracle", 71.0), run("median", 70.0), run("evidence", 1.0, dataset="fmnist")]
    words, table = told(GOAL, lost)
    assert words.endswith("Met in 0 of 1 markets.")  # only seeds and markets that both have are compared
    assert table.splitlines()[2:] == [
        "| trec | backdoor | evidence | 68.0 / 71.0 | – | 1 of 1 | **missed** |",
        "| trec | backdoor | median | 70.0 / 71.0 | – | 0 of 1 | met |",
    ]
    only_success = Goal(("evidence",), "oracle", above=10)
    assert told(only_success, [run("evidence", 1.0, 9.0), run("oracle", 71.0, 0.0)])[0].endswith("1 of 1 markets.")


def test_what_older_code_has_made_is_marked() -> None:
    table = told(GOAL, [run("evidence", 70.0, old=True), run("oracle", 71.0)])[1]
    assert table.endswith("| met† |")


def test_nothing_is_said_where_nothing_was_run() -> None:
    assert told(GOAL, [run("evidence", 70.0)]) == []


def test_goals_are_read_and_wrong_ones_are_named() -> None:
    assert read_goals({}) == []
    assert read_goals({"goal": [{"rules": ["a"], "against": "b", "below": 1}]}) == [Goal(("a",), "b", 1)]
    for wrong in ({"against": "b"}, {"rules": ["a"], "against": "b", "under": 3}):
        with pytest.raises(InputError, match="takes rules, against, below and above"):
            read_goals({"goal": [wrong]})
