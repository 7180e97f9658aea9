"""Pictures: well-formed, within their frame, for no points, few and many."""

import itertools
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from martfl.dashboard.charts import WIDTH, Axis, bars, line_chart, score_chart, stack
from martfl.dashboard.people import in_order
from martfl.dashboard.story import EpochStory, Stage, Turn

numbers = st.floats(-1e6, 1e6)
roles = st.sampled_from(
    ["high quality", "qualified", "candidate", "dropped", "spared", "baseline", "silent", "of another rule"]
)


@given(numbers, st.floats(1e-3, 1e6), st.integers(2, 10))
def test_ticks_are_round_ordered_and_inside(low, span, count):
    axis = Axis(low, low + span, 0.0, 100.0)
    ticks = axis.ticks(count)
    assert ticks == sorted(ticks) and len(ticks) <= 2 * count + 2
    assert all(-0.01 <= axis.at(tick) <= 100.01 for tick in ticks)


@given(st.dictionaries(st.text("ab<&\"'", max_size=5), st.lists(st.tuples(st.integers(0, 50), numbers), max_size=9)))
def test_lines_stay_in_the_frame(series):
    drawn = line_chart(series, title="t", x="round", y="y")
    root = ElementTree.fromstring(drawn)
    for circle in root.iter("circle"):
        assert 0 <= float(circle.get("cx")) <= WIDTH and 0 <= float(circle.get("cy")) <= 240


@given(st.lists(st.tuples(st.floats(-1, 1), roles, st.floats(0, 1)), max_size=40))
def test_every_judged_provider_is_on_the_score_chart(found):
    turns = tuple(
        Turn(provider=str(i), score=score, role=role, weight=weight) for i, (score, role, weight) in enumerate(found)
    )
    epoch = EpochStory(number=1, stage=Stage.OVER, turns=turns)
    root = ElementTree.fromstring(score_chart(epoch, {str(i): "<x>" for i in range(len(found))}))
    assert len([g for g in root.iter("g") if g.get("class") == "mark"]) == len(found)


def test_names_of_near_points_do_not_touch_and_read_as_the_points():
    weights = {"Birch": 0.146, "Ivy": 0.191, "Juniper": 0.168, "Hazel": 0.073}
    turns = tuple(Turn(provider=n, score=0.25, role="high quality", weight=w) for n, w in weights.items())
    root = ElementTree.fromstring(
        score_chart(EpochStory(number=1, stage=Stage.OVER, turns=turns), {n: n for n in weights})
    )
    heights = {text.text: float(text.get("y")) for text in root.iter("text") if text.get("class") == "tag middle"}
    assert sorted(heights, key=heights.get) == ["Ivy", "Juniper", "Birch", "Hazel"]
    low = sorted(heights.values())
    assert all(below - above >= 10 for above, below in itertools.pairwise(low))


@given(st.lists(st.integers(0, 10**30), min_size=1, max_size=6))
def test_a_stack_fills_its_width(values):
    parts = [("name", value, "words", "s0") for value in values]
    (picture,) = [svg for svg in ElementTree.fromstring(stack(parts, title="t")) if svg.get("role") == "img"]
    widths = [float(rect.get("width")) for rect in picture]
    assert sum(widths) <= WIDTH + 0.01 and (not any(values) or sum(widths) >= WIDTH - 2 * len(values))


def test_bars_are_in_proportion():
    root = ElementTree.fromstring(bars([("a", 4.0, "four"), ("b", 2.0, "two"), ("c", 0.0, "none")], title="t"))
    assert [float(rect.get("width")) for rect in root.iter("rect")] == [100.0, 50.0, 0.0]


@given(st.floats(1e-4, 1.0))
def test_no_two_gridlines_have_the_same_label(weight):
    epoch = EpochStory(
        number=1, stage=Stage.OVER, turns=(Turn(provider="a", score=0.5, role="high quality", weight=weight),)
    )
    texts = ElementTree.fromstring(score_chart(epoch, {"a": "a"})).iter("text")
    labels = [text.text for text in texts if text.get("class") == "tick end"]
    assert len(labels) == len(set(labels)) >= 2


def test_names_are_sorted_as_people_sort_them():
    assert sorted(["p10", "P2", "p007", "b", "p"], key=in_order) == ["b", "p", "P2", "p007", "p10"]


@given(st.lists(st.tuples(st.floats(-1, 1), st.text("abc", min_size=1, max_size=12)), max_size=12))
def test_names_on_the_score_chart_do_not_touch(found):
    """Where they do not fit into five rows, the highest row takes the rest."""
    turns = tuple(Turn(provider=str(i), score=score, role="dropped") for i, (score, _) in enumerate(found))
    names = {str(i): name for i, (_, name) in enumerate(found)}
    texts = list(
        ElementTree.fromstring(score_chart(EpochStory(number=1, stage=Stage.OVER, turns=turns), names)).iter("text")
    )
    tags = [(float(t.get("x")), float(t.get("y")), len(t.text)) for t in texts if t.get("class") == "tag middle"]
    assert len(tags) == len(found)
    highest = min((y for _, y, _ in tags), default=0.0)
    for x, y, size in tags:
        beside = [(a, n) for a, b, n in tags if b == y and (a, n) != (x, size)]
        assert y == highest or all(abs(a - x) >= 3.4 * (n + size) for a, n in beside)
