"""Figures: what is drawn is what was measured, read back from the axes."""

import csv

import numpy as np
import pytest
from PIL import Image

from martfl.errors import InputError
from martfl.lab.figures import cumulative, draw, figure_spec, save
from martfl.lab.tables import Outcome

RULES, SHARES = ("fltrust", "martfl"), (0.3, 0.4)
PLAN = [
    {"dataset": "trec", "attack": attack, "rule": rule, "malicious": share, "seed": seed}
    for attack in ("backdoor", "sybil")
    for rule in RULES
    for share in SHARES
    for seed in (0, 1)
]
RUNS = [
    Outcome(
        plan,
        {
            "mta": 100 * plan["malicious"] + 10 * RULES.index(plan["rule"]) + 2 * plan["seed"],
            "dac": 40.0 + plan["seed"],
            "inclusiveness": 60.0,
            "robustness": 90.0,
        },
        tuple({"inclusiveness": value} for value in (0.0, 50.0, 50.0, 100.0)),
    )
    for plan in PLAN
]
LINES = {"kind": "lines", "x": "malicious", "metrics": ["mta"], "lines": "rule", "panels": ["dataset", "attack"]}


def drawn(values, **more):
    given = {"title": "Attacks", "planned": PLAN, "outcomes": RUNS} | more
    return draw(figure_spec(values), **given)


def curves(axes):
    return {line.get_label(): line.get_xydata() for line in axes.get_lines()}


def test_lines_are_means_over_seeds_one_panel_per_case() -> None:
    axes = drawn(LINES).axes
    assert [panel.get_title() for panel in axes] == ["trec, backdoor", "trec, sybil"]
    found = curves(axes[0])
    assert sorted(found) == ["fltrust", "martfl"]
    assert found["martfl"] == pytest.approx(np.array([[30.0, 41.0], [40.0, 51.0]]))


def test_the_published_points_lie_beside_ours() -> None:
    found = curves(drawn(LINES | {"metrics": ["dac"]}, paper="table3").axes[0])
    assert found["martfl (paper)"] == pytest.approx(np.array([[30.0, 53.76], [40.0, 51.50]]))
    assert found["martfl"][:, 1] == pytest.approx([40.5, 40.5])


def test_every_metric_gets_its_panel() -> None:
    axes = drawn(LINES | {"metrics": ["mta", "dac"]}).axes
    assert [panel.get_ylabel() for panel in axes] == ["accuracy (%)", "cost: share bought (%)"] * 2


def test_a_line_looks_the_same_in_every_panel_and_unlike_the_others() -> None:
    """Also where a panel lacks some, or has another order, and where there are more lines than colours."""
    rules = [f"rule {number}" for number in range(11)]
    plan = [PLAN[0] | {"attack": "backdoor", "rule": rule, "malicious": share} for rule in rules for share in SHARES]
    plan += [p | {"attack": "sybil"} for p in reversed(plan) if p["rule"] != "rule 1"]
    runs = [Outcome(p, {"mta": 50.0}) for p in plan]
    looks = [
        {line.get_label(): (line.get_color(), line.get_marker()) for line in axes.get_lines()}
        for axes in drawn(LINES, planned=plan, outcomes=runs).axes
    ]
    assert len(set(looks[0].values())) == len(rules)
    assert looks[1] == {name: look for name, look in looks[0].items() if name != "rule 1"}


def test_all_panels_have_the_same_range() -> None:
    """A single point stands where it lies."""
    some = [run for run in RUNS if run.settings["attack"] == "backdoor" or run.settings["malicious"] == 0.4]
    shown = [run.settings for run in some]
    first, second = drawn(LINES, planned=shown, outcomes=some).axes
    assert first.get_xlim() == second.get_xlim() and first.get_xlim()[0] < 30 and first.get_xlim()[1] > 40


def test_one_panel_a_value_stand_side_by_side_and_the_legend_fits() -> None:
    plan = [
        {"dataset": dataset, "attack": "sybil", "rule": f"rule {number}", "malicious": share, "seed": 0}
        for dataset in ("trec", "cifar10")
        for number in range(16)
        for share in SHARES
    ]
    canvas = drawn(LINES, planned=plan, outcomes=[Outcome(p, {"mta": 50.0}) for p in plan])
    canvas.canvas.draw()
    first, second = (axes.get_window_extent() for axes in canvas.axes)
    assert first.y0 == pytest.approx(second.y0) and first.x1 < second.x0
    for one in (
        canvas,
        drawn(LINES | {"panels": []}, planned=plan[:32], outcomes=[Outcome(p, {"mta": 50.0}) for p in plan[:32]]),
    ):
        one.canvas.draw()
        box = one.legends[0].get_window_extent()
        assert box.x0 >= 0 and box.x1 <= one.bbox.x1


def test_a_colour_that_comes_again_looks_otherwise() -> None:
    """In bars and distributions, which have no marks, and in scatters, where variants of a rule share one."""
    rules = [f"rule {number}" for number in range(10)]
    plan = [PLAN[0] | {"rule": rule} for rule in rules]
    runs = [Outcome(p, {"mta": 50.0}, [{"mta": 50.0}]) for p in plan]
    shape = {"metrics": ["mta"], "lines": "rule", "panels": ["attack"]}
    panel = drawn(shape | {"kind": "bars"}, planned=plan, outcomes=runs).axes[0]
    bars = panel.patches
    assert panel.axison and len({(bar.get_facecolor(), bar.get_hatch()) for bar in bars}) == len(rules)
    steps = drawn(shape | {"kind": "cdf"}, planned=plan, outcomes=runs).axes[0].get_lines()
    assert len({(line.get_color(), line.get_linestyle()) for line in steps}) == len(rules)
    names = [f"{rule}-{variant}" for rule in rules for variant in ("1/3", "1/2")]
    plan = [PLAN[0] | {"rule": name} for name in names]
    runs = [Outcome(p, {"mta": 50.0}) for p in plan]
    marks = drawn(shape | {"kind": "scatter", "x": "mta"}, planned=plan, outcomes=runs).axes[0].containers
    looks = {(m.lines[0].get_color(), m.lines[0].get_marker(), m.lines[0].get_fillstyle()) for m in marks}
    assert len(looks) == len(names)


def test_a_missing_run_leaves_a_gap() -> None:
    some = [run for run in RUNS if run.settings["malicious"] == 0.3]
    assert np.isnan(curves(drawn(LINES, outcomes=some).axes[0])["martfl"][1, 1])


def test_the_cumulative_distribution_of_the_rounds() -> None:
    spec = {"kind": "cdf", "metrics": ["inclusiveness"], "lines": "rule", "panels": ["attack"]}
    points = curves(drawn(spec).axes[0])["martfl"]
    assert points[:, 0].tolist() == [0.0] * 4 + [50.0] * 8 + [100.0] * 4
    assert points[-1, 1] == 1.0


@pytest.mark.parametrize("values", [[], [3.0], [2.0, 1.0, 2.0]])
def test_cumulative_shares_rise_to_one(values) -> None:
    ordered, share = cumulative(values)
    assert ordered.tolist() == sorted(values)
    assert share.tolist() == pytest.approx([(i + 1) / len(values) for i in range(len(values))])


def test_bars_have_the_measured_heights() -> None:
    spec = {"kind": "bars", "metrics": ["robustness", "inclusiveness"], "lines": "rule", "panels": ["attack"]}
    heights = [bar.get_height() for bar in drawn(spec).axes[0].patches]
    assert heights == [90.0, 60.0, 90.0, 60.0]


def test_a_scatter_sets_one_metric_against_the_other() -> None:
    spec = {"kind": "scatter", "x": "inclusiveness", "metrics": ["robustness"], "lines": "rule", "panels": ["attack"]}
    axes = drawn(spec).axes[0]
    assert [container.lines[0].get_xydata().tolist() for container in axes.containers] == [[[60.0, 90.0]]] * 2
    assert axes.get_xlabel() == "inclusiveness (%)"


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_it_is_written_in_the_format_of_the_ending(tmp_path, ending) -> None:
    path = save(drawn(LINES), tmp_path / "new" / f"attacks{ending}")
    assert path.stat().st_size > 1000
    if ending == ".png":
        with Image.open(path) as image:
            assert image.width > image.height  # two panels side by side


KINDS = {
    "lines": (LINES, ["trec, sybil", "martfl", "malicious providers (%)", "40.0", "accuracy (%)", "51.0"], 8),
    "cdf": (
        {"kind": "cdf", "metrics": ["inclusiveness"], "lines": "rule"},
        ["", "martfl", "inclusiveness (%)", "100.0", "share of rounds", "1.0"],
        32,
    ),
    "bars": (
        {"kind": "bars", "metrics": ["dac", "robustness"], "lines": "rule"},
        ["", "martfl", "", "robustness", "%", "90.0"],
        4,
    ),
    "scatter": (
        {"kind": "scatter", "x": "inclusiveness", "metrics": ["robustness"], "lines": "rule"},
        ["", "martfl", "inclusiveness (%)", "60.0", "robustness (%)", "90.0"],
        2,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_of_a_figure_are_a_line_a_point(tmp_path, kind) -> None:
    spec, last, count = KINDS[kind]
    some = [run for run in RUNS if run.settings["malicious"] == 0.4 or kind == "lines"]
    head, *lines = csv.reader(save(drawn(spec, outcomes=some), tmp_path / "attacks.csv").read_text().splitlines())
    assert head == ["panel", "line", "x", "at", "y", "value"]
    assert lines[-1] == last and len(lines) == count


def test_what_was_not_run_has_no_point(tmp_path) -> None:
    some = [run for run in RUNS if run.settings["malicious"] == 0.3]
    text = save(drawn(LINES, outcomes=some), tmp_path / "attacks.csv").read_text()
    assert "30.0" in text and "40.0" not in text and "nan" not in text


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (LINES | {"kind": "pie"}, "unknown kind of figure 'pie': choose one of bars, cdf, lines, scatter"),
        (LINES | {"colour": "red"}, r"\[figure\] has no colour: it takes kind, metrics, lines, panels, x"),
        ({"kind": "lines", "metrics": ["mta"], "lines": "rule"}, r"kind lines needs metrics, lines and.*x"),
        ({"kind": "cdf", "lines": "rule"}, r"kind cdf needs metrics"),
    ],
)
def test_a_malformed_spec_is_refused(values, message) -> None:
    with pytest.raises(InputError, match=message):
        figure_spec(values)


def test_other_formats_and_empty_plans_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match=r"written as one of \.png, \.svg, \.pdf, \.csv, got 'attacks.gif'"):
        save(drawn(LINES), tmp_path / "attacks.gif")
    with pytest.raises(InputError, match="nothing to draw"):
        drawn(LINES, planned=[])
