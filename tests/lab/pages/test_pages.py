"""Pages of results: what is committed is what the command writes, and what it writes is what was run."""

import gzip
import tomllib
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from martfl.cli import app
from martfl.errors import InputError
from martfl.lab.measured import BENCHES, keep_bench
from martfl.lab.pages import Places, digest_of, draw_page, image_of, load_page, render_page, shows_figure
from martfl.lab.runner import run_all
from martfl.lab.runtime import Runtime
from martfl.lab.store import Store
from martfl.lab.suite import load_experiment

ROOT = Path(__file__).parents[3]
PAGES = sorted((ROOT / "experiments/pages").glob("*.toml"))
FILE = """
title = "Small"
[run]
rounds = 2
participants = 6
root_rows = 60
eval_every = 1
attack = "sign-randomizing"
malicious = 0.4
[[grid]]
rule = ["fedavg", "martfl"]
seed = [0, 1]
[[grid]]
rule = ["median"]
seed = [0]
[table]
rows = ["rule"]
columns = ["dataset"]
metrics = ["mta", "dac"]
[figure]
kind = "bars"
metrics = ["mta", "dac"]
lines = "rule"
panels = ["dataset"]
"""
PAGE = """
title = "Measured"
text = "About it."
[[section]]
heading = "Random signs"
experiment = "small"
text = "FedAvg has {{mta: rule=fedavg}}, with seed 1 {{mta: rule=fedavg, seed=1}}."
[[section]]
heading = "Gas"
bench = "gas"
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for name, text in (("small", FILE), ("pages/measured", PAGE)):
        path = tmp_path / "experiments" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Places(tmp_path / "experiments", tmp_path / "results", tmp_path / "docs")


def fresh(places: Places) -> Places:
    """The same, with nothing read yet."""
    return Places(places.experiments, places.results, places.pages, places.keep_old)


def make(places: Places) -> list[float | None]:
    runs = load_experiment(places.experiments / "small.toml").runs
    return [r.mta for r in run_all(runs, folder=places.results / "small", runtime=Runtime(workers=1))]


def rendered(places: Places) -> str:
    return render_page(load_page(places.experiments / "pages/measured.toml"), fresh(places))


def test_a_page_shows_what_was_run(places: Places) -> None:
    assert "0 of 5 planned runs. Nothing was run yet." in rendered(places)
    first, second, *_ = make(places)
    assert first is not None and second is not None
    page = rendered(places)
    assert page.startswith("# Measured\n\nAbout it.\n\n## Random signs\n\n")
    assert f"FedAvg has {50 * (first + second):.1f}, with seed 1 {100 * second:.1f}." in page
    assert "5 of 5 planned runs. Rounds: digits 2. Seeds: fedavg, martfl 2; median 1. Made on cpu, torch" in page
    assert "| fedavg | " in page and "![Small](images/small.png)" in page
    assert page.index("| fedavg |") < page.index("| martfl |") < page.index("| median |")


def test_a_figure_carries_what_it_shows(places: Places) -> None:
    make(places)
    page, now = load_page(places.experiments / "pages/measured.toml"), fresh(places)
    (path,) = draw_page(page, now)
    with Image.open(path) as image:
        assert image.info["Description"] == digest_of(now.results_of(page.sections[0]))
    assert path == places.pages / "images/small.png"


def test_results_of_older_code_do_not_reach_a_page(places: Places) -> None:
    make(places)
    store = Store(places.results / "small")
    codes = {result.made.code for result in store.records()}
    text = gzip.decompress(store.lines.read_bytes()).decode()
    for code in codes:
        text = text.replace(code, "0123456789ab")
    store.lines.write_bytes(gzip.compress(text.encode()))
    assert "0 of 5 planned runs" in rendered(places)


def test_a_text_whose_figures_are_missing_is_left_out(places: Places) -> None:
    runs = load_experiment(places.experiments / "small.toml").runs[:1]
    run_all(runs, folder=places.results / "small", runtime=Runtime(workers=1))
    assert "FedAvg has" not in rendered(places) and "1 of 5 planned runs" in rendered(places)


def test_benchmarks_are_shown_as_they_were_kept(places: Places) -> None:
    assert "Nothing was measured yet." in rendered(places)
    measured = {
        "providers": 3,
        "exact": {"new_epoch": 61844, "object": 5},
        "paper": {"new_epoch": 163076},
        "sampled": {"by_samples": {"8": {"commit_inputs": 399860, "verify_aggregation": 478649}}},
    }
    keep_bench(places.results, "gas", "a machine", measured)
    page = rendered(places)
    assert "| `new_epoch` | 61,844 | 163,076 |" in page and "| `object` | 5 |  |" in page
    assert "| 8 | 399,860 | 478,649 |" in page


def test_schemes_of_scoring_are_shown_and_ratios_are_not(tmp_path: Path) -> None:
    times = {"encrypt_cpu_s": 0.0123, "provider_cpu_s": 0.009, "decrypt_cpu_s": 0.0007}
    ours = {**times, "bytes_per_parameter": 6.1, "max_error": 1e-5}
    sketch = {**times, "request_bytes": 500, "rms_error": 1e-3}
    found = {"parameters": 1000, "ours": ours, "sketch": sketch, "ratios": {**times, "bytes_per_parameter": 13.0}}
    keep_bench(tmp_path, "scoring", "a machine", {"LeNet": found})
    text, machine = BENCHES["scoring"](tmp_path)
    assert "| LeNet, 1,000 | ours | 12.3 | 9.0 | 0.7 | 6.10 |" in text
    assert "| LeNet, 1,000 | sketch | 12.3 | 9.0 | 0.7 | 0.50 |" in text and "ratios" not in text
    assert "a machine" in machine


def test_the_labs_speed_is_shown_for_every_machine(tmp_path: Path) -> None:
    timing = {"dataset": "trec", "clients": 20, "parameters": 2876106, "round_s": 0.03, "train_s": 0.02, "plain_s": 0.7,
              "speedup": 35.0, "precision": "fp32", "rules_s": {"martfl": 0.004}}  # fmt: skip
    assert list(BENCHES["lab"](tmp_path)) == ["Nothing was measured yet."]
    keep_bench(tmp_path, "lab-cuda", "a GPU", [timing])
    machine, text = BENCHES["lab"](tmp_path)
    assert machine == "a GPU, fp32:" and "| trec | 20 | 2,876,106 | 0.030 | 0.020 | martfl 4.0 | 0.70 | 35.0 |" in text


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ('heading = "x"', "a heading and an experiment or a bench"),
        ('heading = "x"\nexperiment = "a"\nbench = "b"', "a heading and an experiment or a bench"),
        ('heading = "x"\nexperiment = "a"\ncolour = 1', "a heading and an experiment or a bench"),
        ('heading = "x"\nexperiment = "a"\nreason = [{ says = "so" }]', "a reason has says and cells"),
        ('heading = "x"\nexperiment = "a"\nreason = [{ says = "so", cells = [], rising = "much" }]', "may have rising"),
    ],
)
def test_malformed_pages_are_refused(tmp_path: Path, part: str, message: str) -> None:
    path = tmp_path / "page.toml"
    path.write_text(f'title = "x"\n[[section]]\n{part}\n')
    with pytest.raises(InputError, match=message):
        load_page(path)


def test_the_command_writes_pages_and_figures(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    make(places)
    monkeypatch.chdir(places.pages.parent)
    result = CliRunner().invoke(app, ["lab", "report"])
    assert result.exit_code == 0, result.output
    assert result.stdout.split() == ["docs/measured.md", "docs/images/small.png"]
    assert (places.pages / "measured.md").read_text() == rendered(places)


# --- what is committed -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def committed() -> Places:
    """What older code has made is shown, too, and marked."""
    return Places(ROOT / "experiments", ROOT / "results", ROOT / "docs", keep_old=True)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_committed_page_is_what_the_command_writes(path: Path, committed: Places) -> None:
    page = load_page(path)
    assert (ROOT / "docs" / f"{page.name}.md").read_text(encoding="utf-8") == render_page(page, committed)
    for section in page.sections:
        if shows_figure(section, committed):
            with Image.open(ROOT / "docs" / image_of(section)) as image:
                assert image.info["Description"] == digest_of(committed.results_of(section)), "draw it again"


def test_every_experiment_is_on_a_page() -> None:
    shown = {
        part["experiment"]
        for path in PAGES
        for part in tomllib.loads(path.read_text())["section"]
        if "experiment" in part
    }
    assert {path.stem for path in (ROOT / "experiments").glob("*.toml")} - {"lora"} == shown
