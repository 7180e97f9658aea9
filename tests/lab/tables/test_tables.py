"""Tables: means and deviations by hand, gaps shown as gaps, the paper's figure beside ours."""

import csv
import io
from statistics import stdev

import pytest

from martfl.errors import InputError
from martfl.lab.tables import (
    Outcome,
    TableSpec,
    build_table,
    summarise,
    table_spec,
    to_csv,
    to_markdown,
    to_pages,
    to_records,
)

SPEC = TableSpec(("dataset", "rule"), ("biased",), ("mta", "dac"))
PLAN = [
    {"dataset": dataset, "rule": rule, "biased": biased, "seed": seed}
    for dataset in ("trec", "fmnist")
    for rule in ("martfl", "oracle")
    for biased in (0.2, 0.3)
    for seed in (0, 1)
]


def outcome(mta, dac=50.0, *, dataset="trec", rule="martfl", biased=0.2, seed=0, **more):
    settings = {"dataset": dataset, "rule": rule, "biased": biased, "seed": seed} | more
    return Outcome(settings, {"mta": mta, "dac": dac, "rounds": 40})


@pytest.fixture
def grid():
    found = [outcome(88.0), outcome(90.0, seed=1), outcome(70.0, biased=0.3), outcome(91.0, rule="oracle")]
    return build_table(SPEC, title="Biased", planned=PLAN, outcomes=found, paper="table1")


def test_the_plan_gives_rows_columns_and_their_order(grid) -> None:
    assert grid.header == ("dataset", "rule", "20% mta", "20% dac", "30% mta", "30% dac")
    assert grid.names == (("trec", "martfl"), ("trec", "oracle"), ("fmnist", "martfl"), ("fmnist", "oracle"))


def test_mean_and_sample_deviation_over_seeds(grid) -> None:
    shown = grid.figures[0][0]
    assert (shown.mean, shown.runs) == (89.0, 2)
    assert shown.deviation == pytest.approx(stdev([88.0, 90.0]))
    assert str(shown) == "89.00 ± 1.41 [88.80 ± 1.72]"


def test_one_run_has_no_deviation_and_a_figure_far_from_the_papers_is_starred(grid) -> None:
    assert str(grid.figures[0][2]) == "70.00* [87.53 ± 1.15]"
    assert grid.figures[0][2].far
    assert not grid.figures[0][0].far


def test_what_was_not_run_and_what_was_not_published_stays_open(grid) -> None:
    assert str(grid.figures[2][0]) == "– [88.22 ± 0.26]"
    assert str(grid.figures[1][0]) == "91.00"
    assert str(grid.figures[3][0]) == "–"


def test_the_notes_say_how_many_runs_and_what_the_marks_mean(grid) -> None:
    assert grid.notes[0] == "Runs a cell: 1 to 2. Deviation: of the sample, over seeds. Rounds a run: 40."
    assert "In brackets: the paper's own figure" in grid.notes[1]
    assert "more than 3 points" in grid.notes[1]


def test_an_empty_table_says_so() -> None:
    empty = build_table(SPEC, title="Biased", planned=PLAN, outcomes=[])
    assert empty.notes == ("Nothing was run yet.",)


def test_a_diverged_run_is_counted_and_left_out() -> None:
    found = [outcome(80.0), outcome(None, seed=1, diverged=True), outcome(float("nan"), seed=2, diverged=True)]
    table = build_table(SPEC, title="Biased", planned=PLAN, outcomes=found)
    assert (table.figures[0][0].mean, table.figures[0][0].runs) == (80.0, 1)
    assert table.notes[-1] == "2 runs diverged and are left out."


def test_a_metric_that_does_not_apply_is_no_number() -> None:
    assert summarise([outcome(80.0)], {"dataset": "trec"}, "asr").mean is None


def test_pages_cut_a_wide_table_by_metric_and_leading_names(grid) -> None:
    pages = to_pages(grid)
    assert [page.title for page in pages] == [f"Biased · {d} · {m}" for d in ("trec", "fmnist") for m in ("mta", "dac")]
    assert pages[0].header == ("rule", "20%", "30%")
    assert pages[0].names == (("martfl",), ("oracle",))
    assert [page.figures for page in pages[:2]] == [
        tuple(row[first::2] for row in grid.figures[:2]) for first in range(2)
    ]


def test_a_metric_that_an_attack_does_not_have_gets_no_page() -> None:
    spec = TableSpec(SPEC.rows, SPEC.columns, ("mta", "asr"))
    pages = to_pages(build_table(spec, title="Attacks", planned=PLAN, outcomes=[outcome(80.0)]))
    assert [page.title for page in pages if "trec" in page.title] == ["Attacks · trec · mta"]
    assert len(to_pages(build_table(spec, title="Attacks", planned=PLAN, outcomes=[]))) == 4, "nothing was run yet"


def test_records_hold_fractions(grid) -> None:
    records = to_records(grid)
    assert len(records) == sum(map(len, grid.figures))
    where = {"dataset": "trec", "rule": "martfl", "column": "20%", "metric": "mta"}
    first = next(record for record in records if where.items() <= record.items())
    assert (first["mean"], first["runs"], first["paper"]) == (0.89, 2, pytest.approx(0.888))


def test_markdown(grid) -> None:
    lines = to_markdown(grid).splitlines()
    assert lines[0] == "**Biased**"
    assert lines[2] == "| dataset | rule | 20% mta | 20% dac | 30% mta | 30% dac |"
    assert lines[3] == "| --- | --- | ---: | ---: | ---: | ---: |"
    assert lines[4].startswith("| trec | martfl | 89.00 ± 1.41 [88.80 ± 1.72] | 50.00 ± 0.00* [53.63] |")


def test_csv_keeps_every_digit(grid) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(grid))))
    assert len(rows) == 4 * 4
    assert rows[0] == {
        "dataset": "trec", "rule": "martfl", "column": "20% mta", "mean": "89.0", "deviation": str(stdev([88.0, 90.0])),
        "runs": "2", "paper": "88.8", "paper_deviation": "1.72",
    }  # fmt: skip


@pytest.mark.parametrize(
    "values",
    [
        {"rows": ["rule"], "columns": ["dataset"]},
        {"rows": "rule", "columns": ["dataset"], "metrics": ["mta"]},
        {"rows": [], "columns": ["dataset"], "metrics": ["mta"]},
        {"rows": ["rule"], "columns": ["dataset"], "metrics": ["mta"], "title": "x"},
    ],
)
def test_a_malformed_spec_is_refused(values) -> None:
    with pytest.raises(InputError, match=r"\[table\] takes lists of names for rows, columns, metrics"):
        table_spec(values)


def test_a_spec_from_a_file() -> None:
    assert table_spec({"rows": ["dataset", "rule"], "columns": ["biased"], "metrics": ["mta", "dac"]}) == SPEC
