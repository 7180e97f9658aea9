"""What is remembered comes back as it was, ages, and is refused where it is of another kind."""

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.errors import InputError
from martfl.selection import make_strategy
from martfl.selection.memory import Memory, Record, blend, pack_memory, unpack_memory
from martfl.selection.reasons import Code

numbers = st.floats(-1e6, 1e6)


def record(**changes):
    given = {"bought": 3, "evidence": 1.5, "code": Code.KEPT, "length": 0.1, "own": 0.2, "tie": 2.0,
             "rows": np.arange(4.0), "direction": np.arange(3.0), "hidden": np.arange(3.0) / 7}  # fmt: skip
    return Record(**{**given, **changes})


def same(a: Record, b: Record) -> bool:
    parts = ("rows", "direction", "hidden")
    arrays = all(np.allclose(getattr(a, part), getattr(b, part), rtol=1e-6) for part in parts)
    return arrays and (a.bought, a.evidence, a.code, a.length, a.own, a.tie) == (
        b.bought, b.evidence, b.code, b.length, b.own, b.tie,
    )  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 99), numbers, st.sampled_from(list(Code)), numbers), max_size=6), st.booleans()
)
def test_a_memory_comes_back_as_it_was(drawn, with_model) -> None:
    records = {
        f"p{i}": record(bought=bought, evidence=evidence, code=code, length=length)
        for i, (bought, evidence, code, length) in enumerate(drawn)
    }
    model = np.linspace(0, 1, 5) if with_model else None
    before = Memory(7, 11, 5, records, model)
    after = unpack_memory(pack_memory(before))
    assert (after.epoch, after.seed, after.looked) == (7, 11, 5)
    assert list(after.records) == list(records)
    assert all(same(after.records[name], records[name]) for name in records)
    assert (after.model is None) if model is None else np.array_equal(after.model, model)


def test_the_start_comes_back_too() -> None:
    rule = make_strategy("evidence")
    assert rule.unpack(rule.pack(rule.start())) == Memory()


def old_memory() -> bytes:
    """As the market wrote it before version 2."""
    stream = io.BytesIO()
    np.savez(stream, left=np.zeros(3), **{"plain values": np.array(json.dumps({"epoch": 3}))})
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (old_memory(), "got one from before version 2"),
        (b"no npz", "is an npz file, got 6 bytes that are none"),
        (b"", "got 0 bytes"),
        (make_strategy("martfl").pack(make_strategy("martfl").start()), "got 'martfl' version 2"),
    ],
)
def test_another_memory_is_refused_with_what_it_is(data, message) -> None:
    with pytest.raises(InputError, match=message):
        make_strategy("evidence").unpack(data)


def test_what_is_older_counts_less() -> None:
    old, new = record(own=0.0, rows=np.zeros(4)), record(bought=4, own=1.0, rows=np.ones(4))
    assert blend(old, new, 0.7).own == pytest.approx(0.3)
    late = record(bought=9, own=1.0, rows=np.ones(4))
    assert blend(old, late, 0.7).own == pytest.approx(1 - 0.7**6)
    assert blend(old, late, 0.7).rows == pytest.approx(np.full(4, 1 - 0.7**6))


def test_findings_on_other_root_data_are_not_mixed() -> None:
    old, new = record(rows=np.zeros(9)), record(bought=4)
    assert same(blend(old, new, 0.7), new)


def test_a_length_rises_at_once_and_falls_slowly() -> None:
    """Who hands in next to nothing now and then is not excused for being short when it is not."""
    short, long = record(length=-38.0), record(bought=4, length=0.2)
    assert blend(short, long, 0.7).length == 0.2
    assert -38.0 < blend(long, record(bought=5, length=-38.0), 0.7).length < -5.0
