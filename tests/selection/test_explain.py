"""The explanation names every provider, its numbers and its reason."""

import io

import numpy as np
import pytest
from rich.console import Console

from martfl.errors import InputError
from martfl.selection import explain, select
from martfl.selection.paper import select_answered
from martfl.selection.reasons import Code, because
from martfl.selection.result import nobody

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


def test_who_is_silent_has_no_score_and_hides_no_range():
    selection = select_answered(np.array([0.1, np.nan, 0.9]), baseline=None, rng=np.random.default_rng(0))
    text = rendered(selection)
    assert "from 0.100 to 0.900" in text
    assert "nan" not in text and "silent" in text


@pytest.mark.parametrize("providers", [0, 3])
def test_an_epoch_without_answers_can_be_shown(providers):
    empty = nobody((because(Code.SILENT),) * providers)
    assert rendered(empty).count("silent") == providers


def test_names_are_one_for_each():
    with pytest.raises(InputError, match="one for each of 10 providers, got 1"):
        explain(decision(), names=["only me"])
