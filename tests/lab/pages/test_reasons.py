"""Every marked cell has its reason, or is listed as having none."""

from martfl.lab.reasons import explain, marked_cells, read_reason
from martfl.lab.tables import Outcome, TableSpec, build_table

SPEC = TableSpec(("dataset", "rule"), ("biased",), ("mta", "dac"))


def grid():
    found = [
        Outcome({"dataset": dataset, "rule": rule, "biased": biased, "seed": 0}, {"mta": 60.0, "dac": 53.0})
        for dataset in ("trec", "fmnist")
        for rule in ("martfl", "oracle")
        for biased in (0.2, 0.3)
    ]
    return build_table(SPEC, title="t", planned=[o.settings for o in found], outcomes=found, paper="table1")


def test_marked_cells_are_named_by_row_column_and_metric() -> None:
    assert set(marked_cells(grid())) == {
        ("trec", "martfl", "20%", "mta"),
        ("trec", "martfl", "30%", "mta"),
        *(("fmnist", "martfl", share, metric) for share in ("20%", "30%") for metric in ("mta", "dac")),
    }


def test_reasons_take_their_cells_in_turn_and_the_rest_is_listed() -> None:
    reasons = [
        read_reason({"says": "Short training.", "cells": [["trec", "ag-news"], ["mta"]]}),
        read_reason({"says": "Everything else on TREC.", "cells": [["trec"]]}),
        read_reason({"says": "Cheap.", "cells": [["dac"], ["20%"]]}),
    ]
    (text,) = explain(grid(), reasons)
    assert text.splitlines() == [
        "More than 3 points away from the paper:",
        "",
        "- Short training. (trec martfl 20% mta; trec martfl 30% mta)",
        "- Cheap. (fmnist martfl 20% dac)",
        "- No reason is known. (fmnist martfl 20% mta; fmnist martfl 30% mta; fmnist martfl 30% dac)",
    ]


def test_nothing_marked_nothing_said() -> None:
    close = build_table(SPEC, title="t", planned=[], outcomes=[], paper="table1")
    assert not list(explain(close, []))
