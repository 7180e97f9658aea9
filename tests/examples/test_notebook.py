"""The notebook runs from its first cell to its last, in a kernel of its own, and says what the page says."""

import ast
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "market.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Every code cell with what it gave."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    place = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    NotebookClient(notebook, timeout=1200, kernel_name="python3", resources=place).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def value(cell, kind="text/plain"):
    return cell.outputs[-1]["data"][kind]


def test_it_has_five_cells_and_is_kept_without_results():
    cells = [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]
    assert len(cells) == 5 and not any(cell.outputs or cell.execution_count for cell in cells)


def test_the_market_is_told(executed):
    accuracy, paid, (money, verified) = (ast.literal_eval(value(cell)) for cell in executed[1:4])
    assert list(accuracy) == [1, 2]
    assert len(paid) == 4 and "sign-randomizing" in {behaviour for behaviour, _ in paid.values()}
    assert money.startswith("deposited 3.0000 ETH = paid") and verified == [True, True]


def test_the_report_is_inline(executed):
    page = value(executed[-1], "text/html")
    assert page.startswith("<iframe srcdoc=") and "Who was paid what" in page
