"""The explanation names every provider, its numbers and its reason; the figure shows every role that occurs."""

import io

import numpy as np
from rich.console import Console

from martfl.selection import explain, plot, select

SCORES = [0.90, 0.91, 0.92, 0.60, 0.61, 0.62, 0.10, 0.12, 0.11, 1.0]


def decision():
    return select(SCORES, baseline=9, rng=np.random.default_rng(0))


def rendered(selection, **options):
    screen = Console(file=io.StringIO(), width=110)
    screen.print(explain(selection, **options))
    return screen.file.getvalue()


def test_table_explains_every_provider():
    text = rendered(decision(), names=[f"hospital {i}" for i in range(10)])
    assert all(f"hospital {i}" in text for i in range(10))
    assert "several clusters: 3" in text
    for word in ("baseline", "high quality", "qualified", "dropped", "0.310 from the best"):
        assert word in text


def test_a_hostile_name_cannot_change_the_markup():
    assert "[red]x[/red]" in rendered(decision(), names=["[red]x[/red]"] * 10)


def test_figure_marks_every_role():
    figure = plot(decision())
    shown = {text.get_text() for text in figure.legends[0].get_texts()}
    assert shown == {"baseline", "high quality", "qualified", "dropped"}
    points = sum(len(collection.get_offsets()) for collection in figure.axes[0].collections)
    assert points == len(SCORES)
