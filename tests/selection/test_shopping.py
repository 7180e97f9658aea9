"""Whom to buy: in turn, within the budget, the dropped now and then."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from martfl.selection import make_strategy
from martfl.selection.memory import Memory, Record
from martfl.selection.reasons import Code
from martfl.selection.shopping import afford, choose, is_out


def record(bought, evidence=0.0, code=Code.KEPT):
    return Record(bought, evidence, code, 0.0, 0.0, 2.0, np.zeros(1), np.zeros(1), np.zeros(1))


def shop(memory, asks, *, seed=0, followers=(), **options):
    names = [f"p{i}" for i in range(len(asks))]
    following = np.isin(np.arange(len(asks)), list(followers))
    return choose(make_strategy("evidence", **options), memory, names, np.asarray(asks, float), following,
                  np.random.default_rng(seed))  # fmt: skip


@given(st.lists(st.floats(0, 0.5), min_size=1, max_size=15), st.floats(0.05, 1.0), st.integers(0, 5))
def test_the_budget_is_never_exceeded_and_nobody_is_bought_twice(asks, budget, seed) -> None:
    records = {"p0": record(2, 9.0), "p1": record(3)}
    wanted, _ = shop(Memory(epoch=9, records=records), asks, seed=seed, budget=budget)
    assert sum(asks[i] for i in wanted) <= budget + 1e-6
    assert len(set(wanted)) == len(wanted)


def test_everybody_has_its_turn() -> None:
    memory, seen = Memory(), []
    for epoch in range(4):
        wanted, _ = shop(memory, [0.05] * 20, seed=epoch, budget=0.25)
        assert len(wanted) == 5
        seen += wanted
        memory = Memory(epoch=epoch + 1, records={**memory.records, **{f"p{i}": record(epoch) for i in wanted}})
    assert sorted(seen) == list(range(20))


def test_who_asks_for_more_waits_as_much_longer() -> None:
    asks, memory, counts = [0.1] * 5 + [0.3], Memory(), np.zeros(6)
    for epoch in range(60):
        wanted, _ = shop(memory, asks, seed=epoch, budget=0.35)
        counts[wanted] += 1
        memory = Memory(epoch=epoch + 1, records={**memory.records, **{f"p{i}": record(epoch) for i in wanted}})
    assert 0 < counts[5] < 0.6 * counts[:5].mean()


def test_followers_are_not_bought() -> None:
    assert 2 not in shop(Memory(), [0.1] * 5, budget=1.0, followers=[2])[0]


def test_the_dropped_are_looked_at_together_and_seldom() -> None:
    records = {f"p{i}": record(0, 9.0) for i in range(5)} | {f"p{i}": record(0) for i in range(5, 12)}
    early, due = shop(Memory(epoch=2, looked=1, records=records), [1 / 12] * 12)
    assert not due and not set(early) & set(range(5))
    late, due = shop(Memory(epoch=4, looked=1, records=records), [1 / 12] * 12)
    assert due and len(set(late) & set(range(5))) == 2, "a third of the budget, at most three"
    assert len(late) == 7


def test_where_all_are_out_the_budget_goes_to_looks() -> None:
    records = {f"p{i}": record(0, 9.0) for i in range(6)}
    wanted, due = shop(Memory(epoch=1, looked=1, records=records), [1 / 6] * 6)
    assert due and len(wanted) == 3


def test_copies_stay_out_until_they_are_looked_at() -> None:
    rule = make_strategy("evidence")
    assert is_out(rule, Memory(records={"a": record(0, 0.0, Code.COPY)}), "a")
    assert not is_out(rule, Memory(records={"a": record(0, rule.limit - 0.1)}), "a")
    assert not is_out(rule, Memory(), "a")


def test_who_is_too_dear_is_passed_over() -> None:
    assert afford([0, 1, 2], np.array([0.3, 0.9, 0.2]), 0.5) == [0, 2]
    assert afford([], np.array([]), 0.5) == []
    assert afford([0], np.array([0.0]), 0.0) == [0]
