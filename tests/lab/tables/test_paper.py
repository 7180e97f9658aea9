"""The published figures: spot checks against the printed tables, and the claims that the paper's text makes of them."""

from statistics import fmean

import pytest

from martfl.errors import InputError
from martfl.lab.paper import TABLES, cells, published


@pytest.mark.parametrize(
    ("table", "metric", "where", "mean", "deviation"),
    [
        ("table1", "mta", {"dataset": "trec", "rule": "martfl", "biased": 0.3}, 87.53, 1.15),
        ("table1", "dac", {"dataset": "cifar10", "rule": "fltrust", "biased": 0.4}, 1.30, None),
        ("table2", "mta", {"dataset": "ag-news", "rule": "martfl"}, 83.35, 1.54),
        ("table2", "dac", {"dataset": "cifar10", "rule": "martfl"}, 34.89, None),
        ("table3", "dac", {"dataset": "trec", "attack": "backdoor", "rule": "martfl", "malicious": 0.8}, 41.86, None),
        ("table3", "dac", {"dataset": "cifar10", "attack": "sybil", "rule": "fltrust", "malicious": 0.3}, 61.29, None),
        ("table4", "quantisation_loss", {"dataset": "trec"}, -0.93, None),
        ("table4", "f1", {"dataset": "cifar10"}, 69.74, 0.69),
        ("table6", "asr", {"rule": "Krum-30", "dataset": "trec", "attack": "backdoor"}, 68.27, None),
        ("table6", "mta", {"rule": "martFL-2/3", "dataset": "fmnist", "attack": "free-rider"}, 88.18, None),
        (
            "table7",
            "baseline_correctness",
            {"attack": "sign-randomizing", "root": "unbiased", "bias_type": "II", "dataset": "cifar10"},
            91.50,
            None,
        ),
    ],
)
def test_printed_figures(table, metric, where, mean, deviation) -> None:
    cell = published(table, metric, where)
    assert cell is not None
    assert (cell.mean, cell.deviation) == (mean, deviation)


def test_the_tables_are_whole() -> None:
    assert {table: len(cells(table)) for table in TABLES} == {
        "table1": 4 * 3 * 3 * 2,
        "table2": 3 * 4 * 2,
        "table3": 2 * 5 * 2 * 6,
        "table4": 4 * 4,
        "table6": 10 * 6,
        "table7": 9 * 4,
    }


def test_every_cell_is_a_percentage_and_found_once() -> None:
    for table in TABLES:
        for cell in cells(table):
            assert -5 <= cell.mean <= 100
            assert published(table, cell.metric, cell.where) is cell


def test_the_saving_that_the_text_states_follows_from_table_3() -> None:
    """The text says that martFL buys roughly 13.91 % less than FLTrust on average."""
    pairs = [(c, {**c.where, "rule": "fltrust"}) for c in cells("table3") if c.where["rule"] == "martfl"]
    savings = [1 - cell.mean / published("table3", "dac", theirs).mean for cell, theirs in pairs]
    assert fmean(savings) == pytest.approx(0.1391, abs=5e-5)


def test_settings_beyond_those_of_the_cell_do_not_matter_but_too_few_find_nothing() -> None:
    where = {"dataset": "trec", "rule": "martfl", "biased": 0.2}
    assert published("table1", "mta", where | {"seed": 3}) is not None
    assert published("table1", "mta", {"dataset": "trec", "rule": "martfl"}) is None
    assert published("table1", "mta", where | {"rule": "oracle"}) is None


def test_an_unknown_table_lists_those_there_are() -> None:
    with pytest.raises(InputError, match="no published table 'table5': choose one of table1, table2"):
        cells("table5")
