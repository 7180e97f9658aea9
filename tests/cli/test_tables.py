"""Tables lose their borders before they lose words, and become paragraphs before they cut one."""

import pytest
from rich.console import Console

from martfl.tables import table

HEADS = ("epoch", "accuracy", "bought", "caught", "prices", "bonus")
ROWS = [("1 verified", "67.1 %", 10, 1, "0.1061", "0.8939"), ("2 verified", "83.6 %", 9, 0, "0.0951", "0.9049")]


def shown(width):
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    console.print(table("Epochs", HEADS, ROWS))
    return console.export_text()


@pytest.mark.parametrize("width", [30, 45, 60, 80, 120])
def test_no_word_is_cut_and_no_line_too_long(width):
    text = shown(width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for cell in (*HEADS, "verified", "0.8939", "0.0951"):
        assert cell in text


def test_borders_where_there_is_room():
    assert "┃" in shown(80) and "┃" not in shown(45)


def test_a_paragraph_a_row_where_columns_do_not_fit():
    lines = [line.rstrip() for line in shown(30).splitlines()]
    assert lines[:3] == ["Epochs", "epoch 1 verified", "  accuracy 67.1 % · bought 10"]
