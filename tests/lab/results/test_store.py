"""Results on disk: nothing is lost to interruptions or to several writers, and old files stay readable."""

import csv
import gzip
import io
import json
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from martfl.lab import records as records_module
from martfl.lab.config import RunConfig
from martfl.lab.folders import experiments_in, holds_results
from martfl.lab.metrics import RoundRow
from martfl.lab.provenance import UNKNOWN, Provenance, revision
from martfl.lab.records import to_json
from martfl.lab.result import RunResult, key_of, summarise
from martfl.lab.store import COLUMNS, Store
from martfl.lab.workers import Job, failed

Make = Callable[..., RunConfig]


def result(config: RunConfig, *, code: str | None = None, mta: float = 0.5) -> RunResult:
    """What a run of two rounds could have given."""
    made = Provenance(revision(config, trainer="batched") if code is None else code, "batched", "2.0", "cpu")
    rows = [RoundRow(1, dac=1 / 3), RoundRow(2, mta=mta, f1=1 / 7, dac=1.0, inclusiveness=0.25)]
    return summarise(config, rows, diverged=False, made=made)


def unpacked(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def make_plain(store: Store, cut: int) -> None:
    """As the file was written before, less what an interruption may have cut off."""
    text = unpacked(store.lines)
    store.plain.write_text(text[: len(text) - cut])
    store.lines.unlink()


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def test_what_is_written_is_read(store: Store, small: Make) -> None:
    first, second = result(small()), result(small(seed=1, rule_params={"alpha": 1.0}, rule="cffl"), mta=1.0)
    store.append(first)
    store.append(second)
    found = store.records()
    assert [r.config for r in found] == [first.config, second.config]
    assert [r.made for r in found] == [first.made, second.made] and not found[0].old
    assert found[0].mta == 0.5 and found[0].f1 == pytest.approx(1 / 7, abs=1e-6) and found[0].asr is None
    rows = store.rounds()[first.key]
    assert [row["round"] for row in rows] == [1, 2] and rows[0]["mta"] is None
    assert rows[0]["dac"] == pytest.approx(1 / 3, abs=1e-6) and rows[1]["mta"] == 0.5
    assert store.finished() == {first.id, second.id}


def test_a_spreadsheet_reads_the_rounds(store: Store, small: Make) -> None:
    for seed in range(3):
        store.append(result(small(seed=seed)))
    with gzip.open(store.curves, "rt") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["run", *COLUMNS] and len(rows) == 7 and {len(row) for row in rows} == {len(rows[0])}


def test_a_run_of_changed_code_counts_as_not_done(store: Store, small: Make) -> None:
    store.append(result(small(), code="0123456789ab"))
    assert store.records()[0].old and not store.finished()
    store.append(result(small(), mta=0.75))
    assert store.finished() == {small().identity()}
    store.append(result(small(), code="fedcba987654"))  # somebody with a checkout of yesterday
    (kept,) = store.records()
    assert kept.mta == 0.75 and not kept.old and store.rounds()[kept.key][1]["mta"] == 0.75


def test_a_failed_run_counts_as_not_done(store: Store, small: Make) -> None:
    store.append(*failed(Job(store.folder, small()), ValueError("no luck")))
    (found,) = store.records()
    assert (found.status, found.error, found.made) == ("failed", "ValueError: no luck", UNKNOWN)
    assert not store.finished()
    store.append(result(small()))
    assert [r.status for r in store.records()] == ["done"]


@pytest.mark.parametrize("lost", [1, 5, 30])
def test_an_interrupted_write_loses_that_run_alone(store: Store, small: Make, lost: int) -> None:
    for seed in range(3):
        store.append(result(small(seed=seed)))
    for path in (store.lines, store.curves):
        path.write_bytes(path.read_bytes()[:-lost])
    assert [r.config.seed for r in store.records()] == [0, 1] and len(store.rounds()) == 2
    store.append(result(small(seed=7)))
    assert [r.config.seed for r in store.records()] == [0, 1, 7]
    assert store.rounds().keys() == {result(small(seed=seed)).key for seed in (0, 1, 7)}
    assert [text.count("\n") for text in map(unpacked, (store.lines, store.curves))] == [1 + 3, 1 + 6], "whole streams"


def test_a_damaged_file_keeps_what_comes_before(store: Store, small: Make) -> None:
    store.append(result(small()))
    for path in (store.lines, store.curves):
        path.write_bytes(path.read_bytes() + b"\x1f\x8b garbage")
    store.append(result(small(seed=1)))
    assert [r.config.seed for r in store.records()] == [0, 1]
    assert store.rounds().keys() == {result(small(seed=seed)).key for seed in (0, 1)}


def test_rounds_are_there_before_their_run(store: Store, small: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(result(small()))
    monkeypatch.setattr("martfl.lab.store.to_lines", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.append(result(small(seed=1)))
    assert len(store.rounds()) == 2 and len(store.records()) == 1


@pytest.mark.parametrize("cut", [0, 9])
def test_a_plain_file_is_read_and_packed_by_the_next_writer(
    store: Store, small: Make, tmp_path: Path, cut: int
) -> None:
    for seed in range(3):
        store.append(result(small(seed=seed)))
    seeds = [0, 1] if cut else [0, 1, 2]
    make_plain(store, cut)
    assert holds_results(store.folder) and experiments_in(tmp_path) == [store.folder]
    assert [r.config.seed for r in store.records()] == seeds
    other = Store(tmp_path / "elsewhere")
    assert other.take(store) == len(seeds) and store.plain.is_file(), "which keeps its own"
    store.append(result(small(seed=3)))
    assert sorted(path.name for path in store.folder.iterdir()) == ["rounds.csv.gz", "runs.jsonl.gz"]
    assert [r.config.seed for r in store.records()] == [*seeds, 3]
    assert all(len(store.rounds()[r.key]) == 2 for r in store.records())
    make_plain(store, 0)
    before = store.records()
    store.compact()
    assert store.records() == before and not store.plain.exists()


def test_an_interrupted_conversion_loses_nothing(store: Store, small: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(result(small()))
    make_plain(store, 0)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "unlink", interrupted)
        store.append(result(small(seed=1)))
    assert store.plain.is_file() and store.lines.is_file() and [r.config.seed for r in store.records()] == [0]
    store.append(result(small(seed=1)))
    assert [r.config.seed for r in store.records()] == [0, 1] and not store.plain.exists()


def test_many_processes_write_at_once(store: Store, small: Make) -> None:
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as pool:
        tasks = [pool.submit(store.append, result(small(seed=seed))) for seed in range(40)]
        tasks += [pool.submit(store.compact) for _ in range(4)]
        for task in tasks:
            task.result(300)
    assert sorted(r.config.seed for r in store.records()) == list(range(40))
    assert all(len(store.rounds()[r.key]) == 2 for r in store.records())


def test_compacting_keeps_everything_but_what_was_superseded(store: Store, small: Make) -> None:
    for seed in range(20):
        store.append(result(small(seed=seed), code="0123456789ab"))
        store.append(result(small(seed=seed)))
    before, size = store.records(), store.curves.stat().st_size
    store.compact()
    assert store.records() == before and len(store.rounds()) == 20
    assert store.curves.stat().st_size < size / 4
    assert sorted(path.name for path in store.folder.iterdir()) == ["rounds.csv.gz", "runs.jsonl.gz"]
    content = [path.read_bytes() for path in (store.lines, store.curves)]
    store.compact()
    assert [path.read_bytes() for path in (store.lines, store.curves)] == content


def test_what_is_old_can_be_dropped(store: Store, small: Make) -> None:
    store.append(result(small()))
    store.append(result(small(seed=1), code="0123456789ab"))
    assert store.compact(drop_old=True) == 1
    assert [r.config.seed for r in store.records()] == [0] and len(store.rounds()) == 1


def test_results_of_another_machine_are_added(store: Store, small: Make, tmp_path: Path) -> None:
    other = Store(tmp_path / "elsewhere")
    store.append(result(small(seed=0)))
    store.append(result(small(seed=1), code="0123456789ab", mta=0.1))
    other.append(result(small(seed=1), mta=0.75))
    other.append(result(small(seed=2)))
    assert store.take(other) == 3 and store.take(other) == 3
    assert [(r.config.seed, r.mta, r.old) for r in store.records()] == [
        (0, 0.5, False),
        (1, 0.75, False),
        (2, 0.5, False),
    ]
    assert all(len(store.rounds()[r.key]) == 2 for r in store.records())
    assert len(other.records()) == 2, "which keeps its own"


def test_a_run_that_two_made_counts_once(store: Store, small: Make) -> None:
    store.append(result(small()))
    store.append(result(small()))
    assert len(store.records()) == 1 and [row["round"] for row in store.rounds()[store.records()[0].key]] == [1, 2]


def test_nothing_is_left_where_everything_is_old(store: Store, small: Make) -> None:
    store.append(result(small(), code="0123456789ab"))
    assert store.compact(drop_old=True) == 1 and not list(store.folder.iterdir())
    assert store.records() == [] and store.rounds() == {}


def test_rounds_of_other_columns_are_carried_over(store: Store, small: Make) -> None:
    store.append(result(small()))
    rows = list(csv.reader(io.StringIO(unpacked(store.curves))))
    narrow = "\n".join(",".join([*row[:3], "x"]) for row in rows) + "\n"
    store.curves.write_bytes(gzip.compress(narrow.replace("mta,x", "mta,gone").replace(",x", ",1").encode()))
    store.append(result(small(seed=1)))
    rounds = store.rounds()
    assert len(rounds) == 2 and rounds[result(small()).key][1]["mta"] == 0.5
    assert all(set(row) == set(COLUMNS) for part in rounds.values() for row in part)


def test_settings_keep_their_meaning_when_defaults_change(
    store: Store, small: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(result(small()))
    head, *others = unpacked(store.lines).splitlines()
    line = json.loads(head)
    line["defaults"] |= {"momentum": 0.5, "gone": 3}
    del line["defaults"]["alpha"]
    store.lines.write_bytes(gzip.compress("\n".join([json.dumps(line), *others, ""]).encode()))
    (found,) = store.records()
    assert found.config == replace(small().filled(), momentum=0.5), "the default of its day; a new setting has today's"
    assert found.id != small().identity() and not found.old
    monkeypatch.setattr(records_module, "KEYS", tuple(key for key in records_module.KEYS if key != "rounds"))
    (found,) = store.records()
    assert found.old, "a setting that had an effect is no longer known"


def test_json_for_scripts_is_complete(small: Make) -> None:
    shown = to_json(result(small()))
    assert shown["id"] == small().identity() and shown["config"]["rounds"] == 2 and shown["asr"] is None
    assert shown["code"] and shown["torch"] and shown["device"] == "cpu" and shown["old"] is False
    assert json.loads(json.dumps(shown)) == shown


def test_a_key_names_run_and_code(small: Make) -> None:
    assert key_of(small(), UNKNOWN) != key_of(small(), replace(UNKNOWN, code="1")) != key_of(small(seed=1), UNKNOWN)
