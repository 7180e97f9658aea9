"""Revisions: what a run executes is in what its revision covers, and nothing of its neighbours is."""

import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import martfl
from martfl.errors import InputError
from martfl.lab import provenance
from martfl.lab.attacks import ATTACKS
from martfl.lab.config import RunConfig
from martfl.lab.data import Preset, load_dataset, registry
from martfl.lab.experiment import run_experiment
from martfl.lab.provenance import CUT, Provenance, is_current, revision
from martfl.lab.rules import RULES
from martfl.lab.runtime import Runtime
from martfl.lab.sources import Place, Sources

Make = Callable[..., RunConfig]
PACKAGE = Path(martfl.__path__[0])


@contextmanager
def watched() -> Iterator[set[Place]]:
    """Every function of this package that is called meanwhile, by its module and the names at the top of it."""
    called: set[Place] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_globals.get("__name__", "").startswith("martfl."):
            names = frame.f_code.co_qualname.split(".<locals>")[0].split(".")
            called.add(Place(frame.f_globals["__name__"], ".".join(names[:2])))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def covered(config: RunConfig, trainer: str, monkeypatch: pytest.MonkeyPatch) -> set[Place]:
    """The definitions behind a revision."""
    found: list[set[Place]] = []

    def keep(roots: tuple[Place, ...], cut: frozenset[str], more: tuple[str, ...]) -> str:
        found.append(set(Sources(PACKAGE).reach(roots, cut=cut)))
        return ""

    monkeypatch.setattr(provenance, "_digest", keep)
    revision(config, trainer=trainer)
    return found[0]


def is_cut(place: Place, config: RunConfig) -> bool:
    """Left out on purpose: registries, checks, other trainers, and the program that takes revisions."""
    module = f"{place.module}:"
    own = place.module == "martfl.lab.sources" or (module == provenance.QUANTISE and not config.quantise)
    return own or module in CUT or str(place) in CUT


def is_covered(place: Place, found: set[Place]) -> bool:
    """Whether a function or a method is there, or a whole class that rests on others."""
    name = place.name.split(".")[0]
    whole = not any(one.module == place.module and one.name.startswith(f"{name}.") for one in found)
    return place in found or (whole and Place(place.module, name) in found)


def check_complete(config: RunConfig, trainer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with watched() as called:
        run_experiment(config, runtime=Runtime(trainer=trainer))
    called = {place for place in called if not place.name.split(".")[-1].startswith("__")}  # dataclasses write some
    assert len(called) > 50
    found = covered(config, trainer, monkeypatch)
    assert not {str(p) for p in called if not is_cut(p, config) and not is_covered(p, found)}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_everything_that_a_run_calls_is_covered(rule: str, small: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    check_complete(small(rule=rule, attack="label-flipping", malicious=0.4, participants=8), "batched", monkeypatch)


@pytest.mark.parametrize("attack", sorted(set(ATTACKS) - {"none"}))
def test_attacks_are_covered(attack: str, small: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    check_complete(small(attack=attack, malicious=0.4, root="biased"), "loop", monkeypatch)


@pytest.mark.parametrize(
    "changes",
    [
        {"quantise": {"bits": 16}},
        {"sizes": "pow", "classes": "noniid", "biased": 0.3, "root": "biased", "dominance": 0.8},
        {"classes": "dirichlet", "alpha": 5.0, "patience": 1, "root_poisoned": 0.2},
    ],
)
def test_settings_are_covered(changes: dict[str, Any], small: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    check_complete(small(**changes), "batched", monkeypatch)


@pytest.mark.parametrize("dataset", ["tiny-images", "tiny-texts"])
@pytest.mark.parametrize("trainer", ["batched", "loop"])
def test_models_are_covered(
    dataset: str, trainer: str, registered: None, small: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small(dataset=dataset, rule="martfl", participants=4, root_rows=12)
    check_complete(config, trainer, monkeypatch)


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Edit a copy of the sources, from which revisions are then taken."""
    copy = tmp_path / "martfl"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))

    def edit(file: str, old: str, new: str) -> None:
        text = (copy / file).read_text()
        assert old in text
        (copy / file).write_text(text.replace(old, new))
        monkeypatch.setattr(provenance, "_sources", lambda: Sources(copy))
        provenance._digest.cache_clear()

    yield edit
    provenance._digest.cache_clear()


RUNS = {
    "martfl": {"rule": "martfl"},
    "fltrust": {"rule": "fltrust"},
    "attacked": {"rule": "fltrust", "attack": "free-rider", "malicious": 0.3},
    "trec": {"rule": "fltrust", "dataset": "trec"},
    "integers": {"rule": "fltrust", "quantise": {"bits": 16}},
    "evidence": {"rule": "evidence"},
    "words": {"rule": "evidence", "dataset": "trec"},
}


def revisions(small: Make) -> dict[str, str]:
    found = {name: revision(small(**settings), trainer="batched") for name, settings in RUNS.items()}
    return {**found, "loop": revision(small(rule="fltrust"), trainer="loop")}


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("lab/rules/fltrust.py", "np.maximum(", "np.minimum(", {"fltrust", "attacked", "trec", "integers", "loop"}),
        ("lab/attacks/free_rider.py", "return", "return -", {"attacked"}),
        ("lab/data/text.py", "length=32", "length=33", {"trec", "words"}),
        ("lab/trainer/loop.py", "torch.set_num_threads(1)", "torch.set_num_threads(2)", {"loop"}),
        ("selection/taught.py", "WATCHED = 200", "WATCHED = 300", {"words"}),
        ("selection/kinds.py", "ALIKE_PART = ", "ALIKE_PART = 2 * ", {"evidence", "words"}),
        ("lab/quantise.py", "2.0**-16", "2.0**-15", {"integers"}),
        ("lab/trainer/optim.py", "EPSILON = 0.9", "EPSILON = 0.8", None),
        ("lab/splits.py", "VALIDATION_MOST = 0.05", "VALIDATION_MOST = 0.06", None),
        ("lab/rules/registry.py", '"fedavg": fedavg,', '"mean": fedavg,', set()),
        ("lab/splits.py", "# rows of the acquirer", "# the acquirer's", set()),
        ("lab/tables.py", "FAR = 3.0", "FAR = 4.0", set()),
    ],
)
def test_a_change_reaches_the_runs_that_it_can_change(
    file: str, old: str, new: str, changed: set[str] | None, small: Make, change: Callable[[str, str, str], None]
) -> None:
    before = revisions(small)
    change(file, old, new)
    after = revisions(small)
    assert {name for name in before if before[name] != after[name]} == (set(before) if changed is None else changed)


def test_what_is_cut_exists() -> None:
    sources = Sources(PACKAGE)
    for text in CUT | {provenance.QUANTISE, provenance.VALUE, *provenance.WORDS}:
        module, _, name = text.partition(":")
        found = sources.module(module)
        assert found is not None and name in found.definitions


def test_a_preset_counts(small: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_SOURCES", dict(registry._SOURCES))
    before = revision(small(), trainer="batched")
    source = registry.source_of("digits")
    registry.register_dataset(name="digits", load=source.load, preset=Preset("mlp", 10, 100, "sgd", 0.2, (1, 2)))
    assert revision(small(), trainer="batched") != before


def test_a_users_own_dataset_counts_by_its_file(small: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_SOURCES", dict(registry._SOURCES))
    path = tmp_path / "mine.py"
    path.write_text("from martfl.lab.data import load_dataset\ndef load(folder):\n    return load_dataset('digits')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    mine = __import__("mine")
    registry.register_dataset(name="mine", load=mine.load, preset=registry.preset_of("digits"))
    config = small(dataset="mine")
    made = run_experiment(config).made
    assert is_current(config, made)
    provenance._digest.cache_clear()
    path.write_text(path.read_text() + "# another\n")
    assert not is_current(config, made)


def test_what_is_no_longer_there_is_old(small: Make) -> None:
    made = run_experiment(small()).made
    assert is_current(small(), made) and made.trainer == "batched" and made.device == "cpu" and made.torch
    gone = RunConfig(**{**small().filled().__dict__, "dataset": "no more"})
    assert not is_current(gone, made) and not is_current(small(), Provenance())
    with pytest.raises(InputError, match="unknown dataset 'no more'"):
        load_dataset("no more")
