"""Layouts: vectors to named tensors and back, and the first difference between two."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.tasks import Layout, LayoutError, Part

shapes = st.lists(st.integers(1, 4), max_size=3).map(tuple)
layouts = st.dictionaries(st.text("abc.01", min_size=1, max_size=6), shapes, min_size=1, max_size=6).map(
    lambda found: Layout(tuple(Part(name, shape) for name, shape in found.items()))
)


@given(layouts)
def test_vectors_go_to_tensors_and_back(layout: Layout) -> None:
    vector = np.arange(layout.size, dtype=np.float32)
    tensors = layout.split(vector)
    assert {name: t.shape for name, t in tensors.items()} == {part.name: part.shape for part in layout.parts}
    assert np.array_equal(layout.join(tensors), vector)
    for position in range(layout.size):
        assert position in tensors[layout.name_at(position)]


@given(layouts)
def test_the_table_says_all(layout: Layout) -> None:
    read = Layout.from_table(layout.to_table())
    assert read == layout
    assert read.hash == layout.hash


@given(layouts, layouts)
def test_one_hash_is_one_layout(one: Layout, other: Layout) -> None:
    assert (one.hash == other.hash) == (one == other) == (one.difference(other) is None)


def test_the_first_difference_is_named() -> None:
    mine = Layout((Part("in", (2, 3)), Part("out", (3,))))
    assert (
        mine.difference(Layout((Part("in", (2, 3)), Part("out", (4,))))) == "out must be float32[3], it is float32[4]"
    )
    assert mine.difference(Layout((Part("in", (2, 3)), Part("end", (3,))))) == "out is expected where end is"
    assert mine.difference(Layout((Part("in", (2, 3)),))) == "out is missing"
    assert mine.difference(Layout((*mine.parts, Part("more", (1,))))) == "more is one too many"
    half = Layout((Part("in", (2, 3), "bfloat16"), Part("out", (3,))))
    assert mine.difference(half) == "in must be float32[2, 3], it is bfloat16[2, 3]"
    assert mine.difference(half, types=False) is None


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "at least one tensor"),
        ({"a": "float32"}, "'type[sides]'"),
        ({"a": "float32[x]"}, "'type[sides]'"),
        ({"a": "float32[0]"}, "positive"),
        ({"a": "int8[1]"}, "must be one of"),
        ({"": "float32[1]"}, "not empty"),
    ],
)
def test_what_is_no_layout_is_refused(table: dict[str, str], said: str) -> None:
    with pytest.raises(LayoutError, match=said.replace("[", r"\[")):
        Layout.from_table(table)


def test_tensors_of_another_layout_are_refused() -> None:
    layout = Layout((Part("a", (2,)),))
    with pytest.raises(LayoutError, match="a is expected where b is"):
        layout.join({"b": np.zeros(2)})
    with pytest.raises(LayoutError, match=r"shape \(2,\), got \(3,\)"):
        layout.split(np.zeros(3))
    with pytest.raises(LayoutError, match="twice"):
        Layout((Part("a", (2,)), Part("a", (2,))))
