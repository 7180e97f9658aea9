"""The experiment files: every one loads, can be run, and renders what it says it shows."""

import tomllib
from functools import cache
from pathlib import Path

import pytest

from martfl.lab.figures import figure_spec
from martfl.lab.metrics import RoundRow
from martfl.lab.paper import cells, published
from martfl.lab.result import MEASURES
from martfl.lab.suite import check_runs, load_experiment, settings_of
from martfl.lab.tables import table_spec

FOLDER = Path(__file__).parents[3] / "experiments"
APART = {"lora.toml"}  # run by martfl.lab.adapters
FILES = sorted(path for path in FOLDER.glob("*.toml") if path.name not in APART)
EXPLAINED = FOLDER / "biased-root-test-baseline.toml"
MEASURED = set(MEASURES)


@cache
def load(path):
    """Two seeds are enough here."""
    return load_experiment(path, seeds=(0, 1))


def holding(part):
    """The files with that part."""
    return [path for path in FILES if part in tomllib.loads(path.read_text(encoding="utf-8"))]


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def experiment(request):
    return load(request.param)


def test_there_is_one_for_every_table_and_figure_and_the_index_lists_them() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"`{path.name}`" in index for path in FILES)
    for part in ("Table 1", "Table 2", "Table 3", "Table 4", "Table 6", "Table 7"):
        assert part in index
    for part in ("Figure 2", "Figure 5", "Figure 6", "Figure 7", "Figure 8", "Figure 11"):
        assert part in index


def test_every_run_is_possible(experiment) -> None:
    assert experiment.runs
    assert len({run.identity() for run in experiment.runs}) == len(experiment.runs)
    check_runs([run for run in experiment.runs if run.seed == 0])


def test_every_run_has_a_place_of_its_own_in_the_table(experiment) -> None:
    spec = table_spec(experiment.meta["table"])
    axes = (*spec.rows, *spec.columns, "seed")
    places = [tuple(settings_of(run)[axis] for axis in axes) for run in experiment.runs]
    assert len(set(places)) == len(places)
    assert set(spec.metrics) <= MEASURED


@pytest.mark.parametrize("path", holding("figure"), ids=lambda path: path.stem)
def test_the_figure_shows_settings_and_metrics_that_exist(path) -> None:
    experiment = load(path)
    spec, settings = figure_spec(experiment.meta["figure"]), settings_of(experiment.runs[0])
    measured = set(RoundRow.__dataclass_fields__) if spec.kind == "cdf" else MEASURED
    assert {*spec.panels, spec.lines} <= set(settings)
    assert set(spec.metrics) <= measured
    assert not spec.x or spec.x in (settings if spec.kind == "lines" else MEASURED)


@pytest.mark.parametrize("path", sorted({*holding("paper")} - {EXPLAINED}), ids=lambda path: path.stem)
def test_every_published_figure_finds_its_cell(path) -> None:
    experiment = load(path)
    spec, found = table_spec(experiment.meta["table"]), set()
    for run in experiment.runs:
        settings = settings_of(run)
        where = {key: settings[key] for key in (*spec.rows, *spec.columns)}
        found |= {id(published(experiment.paper, metric, where)) for metric in spec.metrics}
    wanted = {id(cell) for cell in cells(experiment.paper) if cell.metric in spec.metrics}
    assert wanted <= found


def test_test_data_choose_a_baseline_in_no_result() -> None:
    leaky = {
        path.stem for path in FILES if any(run.rule_params.get("baseline_data") == "test" for run in load(path).runs)
    }
    assert leaky == {EXPLAINED.stem}
    assert "not a result" in load(EXPLAINED).title
