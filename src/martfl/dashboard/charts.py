"""Pictures as SVG elements: lines, scores, bars, money. Colours come from style classes, so they follow light and dark.

Coordinates are in the units of the view box; the picture scales to the width that it is given.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from martfl.dashboard.finding import traits
from martfl.dashboard.markup import Html, h, join
from martfl.dashboard.saving import figure
from martfl.dashboard.story import EpochStory, Turn
from martfl.dashboard.words import role_of

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 640, 72, 20, 18, 42
INSET = 14  # from the left edge to the first point, so that the two axes' labels stay apart
MOST_NAMES = 24  # beyond this many points names would only hide them
LONGEST_TAG, LETTER, LINE, MOST_LEVELS = 12, 7.0, 11, 5  # letters of a name, their width, height, and names in a pile
MARK = 6  # half the width of a mark
SCORED = ("provider", "address", "decision", "score", "weight")


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` onto the line from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The place of a value."""
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Round values within the range."""
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        raw = span / count
        magnitude = 10.0 ** math.floor(math.log10(raw))
        step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= raw)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def line_chart(
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    title: str,
    x: str,
    y: str,
    unit: str = "",
    height: int = 240,
) -> Html:
    """Lines over whole numbers; each series has its own colour, dash and mark."""
    points = [point for line in series.values() for point in line]
    if not points:
        return h("p", "Nothing to draw yet.", class_="empty")
    across = Axis(min(p[0] for p in points), max(p[0] for p in points), LEFT + INSET, WIDTH - RIGHT)
    up = Axis(*_padded([p[1] for p in points], unit), height - BOTTOM, TOP)
    grid = [_gridline(up, value, unit) for value in up.ticks(4)]
    wanted = sorted({round(tick) for tick in across.ticks(8)})
    labels = [_text(across.at(v), height - BOTTOM + 16, str(v), class_="tick middle") for v in wanted]
    lines = [_line(line, across, up, number) for number, line in enumerate(series.values())]
    axis_names = [_text((LEFT + WIDTH - RIGHT) / 2, height - 3, x, class_="axis middle")]
    picture = _svg(height, title, [*grid, *labels, *lines, *axis_names])
    legend = _legend([(f"s{number % 8}", name) for number, name in enumerate(series)]) if len(series) > 1 else None
    places = [dict(line) for line in series.values()]
    rows = [(at, *(line.get(at) for line in places)) for at in sorted({point[0] for point in points})]
    return figure(h("figcaption", y), picture, legend, columns=(x, *(name or y for name in series)), rows=rows)


def score_chart(epoch: EpochStory, names: Mapping[str, str]) -> Html:
    """Every provider at its score and weight; the decision as colour and shape."""
    turns = [turn for turn in epoch.turns if turn.score is not None and turn.role]
    if not turns:
        words = "Scores are shown when the epoch is over." if not epoch.over else "No scores."
        return h("p", words, class_="empty")
    height = 280
    values = [turn.score or 0.0 for turn in turns]
    pad = 0.06 * ((max(values) - min(values)) or 0.1)
    across = Axis(min(values) - pad, max(values) + pad, LEFT, WIDTH - RIGHT)
    top = max(max(turn.weight for turn in turns), 0.01)
    up = Axis(0.0, top, height - BOTTOM - 24, TOP + 50)
    grid = [_gridline(up, value, "%") for value in up.ticks(3)]
    ticks = [_text(across.at(v), height - BOTTOM + 16, f"{v:.2g}", class_="tick middle") for v in across.ticks(6)]
    order = sorted(turns, key=lambda turn: turn.score or 0.0)
    marks = [_mark(turn, across.at(turn.score or 0.0), up.at(turn.weight), names[turn.provider]) for turn in order]
    few = len(turns) <= MOST_NAMES
    places = [(across.at(t.score or 0.0), up.at(t.weight), names[t.provider][:LONGEST_TAG]) for t in order]
    tags = _tags(places) if few else []
    axis = _text((LEFT + WIDTH - RIGHT) / 2, height - 3, "score: cosine with the baseline", class_="axis middle")
    title = f"Scores and weights of epoch {epoch.number}"
    picture = _svg(height, title, [*grid, *ticks, *marks, *tags, axis])
    roles = dict.fromkeys(role_of(turn) for turn in turns)
    legend = h("ul", [h("li", _swatch(role), role) for role in roles], class_="legend")
    rows = [(names[turn.provider], turn.provider, role_of(turn), turn.score, turn.weight) for turn in turns]
    return figure(h("figcaption", "weight in the new model"), picture, legend, columns=SCORED, rows=rows)


def bars(rows: Sequence[tuple[str, float, str]], *, title: str, kind: str = "s0") -> Html:
    """Horizontal bars: name, value, the value in words. Nothing is drawn of a value below zero."""
    most = max((value for _, value, _ in rows), default=0.0)
    whole = most if most > 0 else 1.0
    lines = [
        h("tr", h("th", name, scope="row"), h("td", bar(max(value, 0) / whole, kind)), h("td", words, class_="number"))
        for name, value, words in rows
    ]
    table = h("table", h("caption", title), h("tbody", lines), class_="bars")
    return figure(table, columns=("name", "value", "in words"), rows=rows)


def stack(parts: Sequence[tuple[str, int, str, str]], *, title: str) -> Html:
    """One bar cut into parts: name, value, words, style class."""
    whole = sum(value for _, value, _, _ in parts) or 1
    at, pieces = 0.0, []
    for _, value, _, kind in parts:
        width = WIDTH * value / whole
        pieces.append(h("rect", x=at, y=0, width=max(width - 1.5, 0.0), height=26, class_=kind))
        at += width
    picture = h("svg", pieces, viewBox=f"0 0 {WIDTH} 26", role="img", aria_label=title, preserveAspectRatio="none")
    legend = [h("li", _square(kind), f"{name}: {words}") for name, value, words, kind in parts if value]
    named = h("ul", legend, class_="legend")
    rows = [(name, value, words) for name, value, words, _ in parts]
    columns = ("name", "value", "in words")
    return figure(h("figcaption", title), picture, named, columns=columns, rows=rows, class_="stack")


def _padded(values: Sequence[float], unit: str) -> tuple[float, float]:
    if unit == "%":
        return 0.0, max(1.0, max(values))
    low, high = min(values), max(values)
    pad = 0.05 * ((high - low) or abs(high) or 1.0)
    return low - pad, high + pad


def _gridline(up: Axis, value: float, unit: str) -> Html:
    y, words = up.at(value), f"{100 * value:.3g}%" if unit == "%" else f"{value:.3g}"
    line = h("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid")
    return join([line, _text(LEFT - 6, y + 4, words, class_="tick end")])


def _line(points: Sequence[tuple[float, float]], across: Axis, up: Axis, number: int) -> Html:
    places = [(across.at(a), up.at(b)) for a, b in points]
    path = h("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in places), class_=f"line s{number % 8}")
    shown = places if len(places) <= 60 else []
    return join([path, [h("circle", cx=a, cy=b, r=3.5, class_=f"dot s{number % 8}") for a, b in shown]])


SHAPES = {
    "high quality": "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z",
    "qualified": "M-5,-5h10v10h-10z",
    "candidate": "M0,-6.5L6.5,0L0,6.5L-6.5,0z",
    "dropped": "M-5,-3L-3,-5L0,-2L3,-5L5,-3L2,0L5,3L3,5L0,2L-3,5L-5,3L-2,0z",
    "spared": "M-1.8,-6h3.6v4.2h4.2v3.6h-4.2v4.2h-3.6v-4.2h-4.2v-3.6h4.2z",
    "baseline": "M0,-7L2,-2.2L7,-2.2L3,1L4.5,6L0,3L-4.5,6L-3,1L-7,-2.2L-2,-2.2z",
    "silent": "M-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0z",
    "caught": "M0,-7L7,6H-7z",
}


def role_class(role: str) -> str:
    """The style class of a role."""
    return "role-" + role.replace(" ", "-")


def shape_of(role: str) -> str:
    """The outline of a role's mark; a rule may have roles that this room does not know."""
    return SHAPES.get(role, SHAPES["silent"])


def _mark(turn: Turn, x: float, y: float, name: str) -> Html:
    role, who = role_of(turn), traits(name, turn.provider, [turn])
    shape = h("path", d=shape_of(role), class_=role_class(role))
    return h("g", h("title", f"{name}: {role}"), shape, transform=f"translate({x:.1f} {y:.1f})", class_="mark", **who)


def _tags(places: Sequence[tuple[float, float, str]]) -> list[Html]:
    """A name above each mark, as low as it can stand without touching a mark or a name; a pile reads as its marks."""
    taken = [Box(x, MARK, y - MARK, y + MARK) for x, y, _ in places]
    found = []
    for x, y, name in sorted(places, key=lambda place: (-place[1], place[0])):  # from the bottom
        levels = [_tag_box(x, y - 9 - LINE * level, name) for level in range(MOST_LEVELS)]
        box = next((one for one in levels if not any(one.touches(other) for other in taken)), levels[-1])
        taken.append(box)
        found.append(_text(box.x, box.low, name, class_="tag middle"))
    return found


@dataclass(frozen=True)
class Box:
    """Room that is taken: around `x`, from `high` down to `low`."""

    x: float
    half: float
    high: float
    low: float

    def touches(self, other: "Box") -> bool:
        """Whether the two have room in common."""
        beside = abs(self.x - other.x) >= self.half + other.half
        return not (beside or self.low <= other.high or other.low <= self.high)


def _tag_box(x: float, y: float, name: str) -> Box:
    half = LETTER * len(name) / 2
    return Box(min(max(x, LEFT + half), WIDTH - RIGHT - half), half, y - LINE + 1, y)


def _swatch(role: str) -> Html:
    shape = h("path", d=shape_of(role), class_=role_class(role))
    return h("svg", shape, viewBox="-8 -8 16 16", class_="swatch", aria_hidden="true")


def _square(kind: str) -> Html:
    return h("svg", h("rect", x=0, y=0, width=14, height=14, class_=kind), viewBox="0 0 14 14", class_="swatch",
             aria_hidden="true")  # fmt: skip


def _legend(entries: Sequence[tuple[str, str]]) -> Html:
    return h("ul", [h("li", _square(kind), name) for kind, name in entries], class_="legend")


def bar(share: float, kind: str) -> Html:
    """A bar of its own; what is not zero can be seen."""
    drawn = h("rect", x=0, y=0, width=max(100 * share, 0.5 if share else 0.0), height=10, class_=kind)
    return h("svg", drawn, viewBox="0 0 100 10", preserveAspectRatio="none", class_="bar", aria_hidden="true")


def _text(x: float, y: float, words: str, *, class_: str) -> Html:
    return h("text", words, x=x, y=y, class_=class_)


def _svg(height: int, title: str, content: Sequence[Html]) -> Html:
    return h("svg", h("title", title), content, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=title)
