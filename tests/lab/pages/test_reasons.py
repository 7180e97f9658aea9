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
    assert {names for names, _ in marked_cells(grid())} == {
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
        "- Short training. (trec martfl: 20% mta, 30% mta)",
        "- Cheap. (fmnist martfl: 20% dac)",
        "- No reason is known. (fmnist martfl: 20% mta, 30% mta, 30% dac)",
    ]


def test_a_reason_may_hold_only_where_accuracy_still_rose() -> None:
    """Below the paper's figure, and by so many points in the last tenth of the rounds."""
    ends = {"trec": 60.0, "cifar10": 60.5, "fmnist": 70.0, "ag-news": 90.0}  # FMNIST is far below, AG News above
    found = [
        Outcome(
            {"dataset": dataset, "rule": "martfl", "biased": 0.3, "seed": 0},
            {"mta": end, "dac": None},
            [{"round": 10.0 * i, "mta": end if i == 10 or dataset == "fmnist" else end - 2} for i in range(1, 11)],
        )
        for dataset, end in ends.items()
    ]
    table = build_table(SPEC, title="t", planned=[o.settings for o in found], outcomes=found, paper="table1")
    rising = read_reason({"says": "It still rose.", "cells": [["mta"]], "rising": 1})
    (text,) = explain(table, [rising])
    assert text.splitlines()[2:] == [
        "- It still rose. (trec martfl: 30% mta; cifar10 martfl: 30% mta)",
        "- No reason is known. (fmnist martfl: 30% mta; ag-news martfl: 30% mta)",
    ]


def test_nothing_marked_nothing_said() -> None:
    close = build_table(SPEC, title="t", planned=[], outcomes=[], paper="table1")
    assert not list(explain(close, []))
