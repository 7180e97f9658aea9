"""The journal: typed steps once, blobs first come, and clear words where a disk, a lock, a file or a form fails."""

import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.market import codec
from martfl.market.errors import JournalError
from martfl.market.journal import NAME, VERSION, Journal
from martfl.market.steps import KINDS, Aggregated, Collected, KeyGiven, OwnUpdate

FIRST, SECOND = Collected(amount=5), Collected(amount=6)


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "party") as opened:
        yield opened


def test_a_step_is_worked_out_once(journal):
    calls = []
    for _ in range(3):
        assert journal.once(1, Collected, lambda: calls.append(1) or FIRST) == FIRST
    assert len(calls) == 1
    with pytest.raises(JournalError, match="UNIQUE constraint"):
        journal.record(1, SECOND)


def test_steps_are_told_apart_by_epoch_kind_and_label(journal):
    journal.record(1, FIRST)
    journal.record(2, SECOND)
    journal.record(1, SECOND, label="other")
    assert journal.recall(1, Collected) == FIRST
    assert journal.recall(2, Collected) == SECOND
    assert journal.recall(1, Collected, label="other") == SECOND
    assert journal.recall(1, KeyGiven) is None
    assert journal.all_of(Collected) == [FIRST, SECOND, SECOND] and journal.all_of(Collected, 2) == [SECOND]
    assert [(e.epoch, e.label) for e in journal.entries()] == [(1, ""), (2, ""), (1, "other")]


def test_a_step_that_fails_is_not_recorded(journal):
    with pytest.raises(ZeroDivisionError, match="by zero"):
        journal.once(1, Collected, lambda: 1 // 0)
    assert journal.recall(1, Collected) is None
    assert journal.once(1, OwnUpdate, lambda: OwnUpdate()) == OwnUpdate() == journal.recall(1, OwnUpdate)


def test_everything_is_there_after_a_restart(journal):
    journal.once(2, Collected, lambda: FIRST)
    journal.keep_all(2, {"a": b"1", "b": b"2"})
    journal.keep(2, "a", b"another")
    journal.remark(2, "0xabc", "forged score", "once")
    journal.remark(2, "0xabc", "forged score", "twice")
    journal.close()
    with Journal(journal.folder) as again:
        assert [entry.value for entry in again.entries()] == [FIRST]
        assert (again.blob(2, "a"), again.blob(2, "b"), again.blob(2, "c")) == (b"1", b"2", None)
        assert [r.detail for r in again.remarks(subject="0xabc")] == ["once"]
        again.forget(2, keep=frozenset({"b"}))
        assert (again.blob(2, "a"), again.blob(2, "b")) == (None, b"2")


def test_threads_of_one_party_do_not_disturb_each_other(journal):
    """A provider answers and watches at the same time; a write that fails undoes nothing of another thread's."""
    failed = []

    def write(thread):
        for i in range(40):
            journal.keep_all(i, {f"a{thread}": b"1", f"b{thread}": b"2"})
            try:
                journal.record(i, FIRST)  # one thread is the first, for the others it fails
            except JournalError:
                failed.append((thread, i))

    threads = [threading.Thread(target=write, args=(t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failed) == 3 * 40 and len(journal.entries()) == 40
    assert all(journal.blob(i, f"{name}{t}") for i in range(40) for t in range(4) for name in "ab")


# --- files -----------------------------------------------------------------------------------------------------------


def test_others_cannot_read_it(journal):
    journal.keep(1, "secret", b"x")
    for path in (journal.folder, journal.folder / NAME):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077


def test_two_processes_on_one_journal_are_refused(journal):
    code = "import sys, pathlib, martfl.market.journal as j; j.Journal(pathlib.Path(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(journal.folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode and "another process is using the journal" in done.stderr
    with pytest.raises(JournalError, match="another process is using the journal"):
        Journal(journal.folder)
    with Journal(journal.folder, read_only=True) as reader:  # looking on is allowed
        assert reader.entries() == []


def test_a_reader_writes_nothing(journal):
    with (
        Journal(journal.folder, read_only=True) as reader,
        pytest.raises(JournalError, match="readonly database"),
    ):
        reader.record(1, FIRST)


def test_a_full_disk_leaves_nothing_half_written(journal):
    journal.once(1, Collected, lambda: FIRST)
    pages = journal._db.execute("PRAGMA page_count").fetchone()[0]
    journal._db.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(JournalError, match=r"nothing was half-written.*full"):
        journal.keep_all(1, {"small": b"1", "large": bytes(1 << 20)})
    with pytest.raises(JournalError, match="full"):
        journal.once(1, Aggregated, lambda: Aggregated(digest="x" * 100_000))
    assert journal.blob(1, "small") is None and journal.recall(1, Aggregated) is None
    journal._db.execute("PRAGMA max_page_count = 1000000")  # somebody made room
    assert journal.once(1, Aggregated, lambda: Aggregated(digest="y")) == Aggregated(digest="y")
    assert journal._db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_a_disk_that_takes_no_more_bytes(tmp_path):
    """A limit of the operating system on file sizes, in a process of its own."""
    code = """
import resource, signal, sys
from pathlib import Path
from martfl.market.errors import JournalError
from martfl.market.journal import Journal
from martfl.market.steps import Collected
journal = Journal(Path(sys.argv[1]))
journal.once(1, Collected, lambda: Collected(amount=1))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
try:
    journal.keep_all(1, {"small": b"1", "large": bytes(1 << 20)})
except JournalError as error:
    sys.exit(str(error))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "party")], capture_output=True, text=True, check=False
    )
    assert "nothing was half-written" in done.stderr and "Traceback" not in done.stderr
    with Journal(tmp_path / "party") as again:
        assert again.recall(1, Collected) == Collected(amount=1) and again.blob(1, "small") is None


@pytest.mark.parametrize("damage", ["replaced", "header", "middle"])
def test_a_damaged_file_is_named(tmp_path, damage):
    folder = tmp_path / "party"
    with Journal(folder) as journal:
        for i in range(200):
            journal.record(i, Aggregated(digest="x" * 200))
    path = folder / NAME
    data = bytearray(path.read_bytes())
    if damage == "replaced":
        data = bytearray(b"not a database at all" * 300)
    elif damage == "header":
        data[:16] = bytes(16)
    else:
        data[4096 : len(data) // 2] = b"\xff" * (len(data) // 2 - 4096)
    path.write_bytes(data)
    with pytest.raises(JournalError, match=str(folder)), Journal(folder) as broken:
        broken.entries()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises((JournalError, OSError), match="Not a directory"):
        Journal(tmp_path / "file" / "party")


def test_a_copy_taken_while_open_is_whole(journal, tmp_path):
    journal.record(1, FIRST)
    shutil.copytree(journal.folder, tmp_path / "copy")
    with Journal(tmp_path / "copy") as copy:
        assert copy.recall(1, Collected) == FIRST


# --- forms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [0, 1, VERSION + 1])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_journal_of_another_form_is_refused_and_left_alone(tmp_path, form, read_only):
    folder = tmp_path / "party"
    with Journal(folder) as journal:
        journal.record(1, FIRST)
    database = sqlite3.connect(folder / NAME)
    database.execute(f"PRAGMA user_version = {form}")
    database.commit()
    before = database.execute("SELECT * FROM steps").fetchall()
    with pytest.raises(JournalError, match=f"form {form or 1}, this version reads form {VERSION}"):
        Journal(folder, read_only=read_only)
    assert database.execute("SELECT * FROM steps").fetchall() == before
    assert database.execute("PRAGMA user_version").fetchone() == (form,)
    database.close()


def value_of(kind):
    """Anything that a field of this type may hold."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        types = get_type_hints(kind)
        return st.builds(kind, **{f.name: value_of(types[f.name]) for f in fields(kind)})
    if origin in (Union, UnionType):
        return st.one_of(st.none() if one is NoneType else value_of(one) for one in inner)
    if origin is tuple:
        return st.lists(value_of(inner[0]), max_size=3).map(tuple)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(st.text(max_size=5), value_of(inner[1]), max_size=3)
    plain = {int: st.integers(), float: st.floats(allow_nan=False, allow_infinity=False), str: st.text(max_size=8)}
    return {**plain, bool: st.booleans(), Any: st.integers() | st.text(max_size=5) | st.none()}[kind]


STEPS = st.one_of([value_of(kind) for kind in KINDS.values()])


@given(step=STEPS)
def test_any_step_comes_back_as_it_was(step):
    again = codec.from_json(step.step, codec.to_json(step))
    assert again == step and type(again) is type(step)
    assert codec.to_json(again) == codec.to_json(step)


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(allow_nan=False)


@given(name=st.sampled_from(sorted(KINDS)), values=st.dictionaries(st.text(max_size=5), LEAVES, max_size=3))
def test_what_does_not_fit_a_step_is_refused(name, values):
    if {f.name for f in fields(KINDS[name])} == set(values):
        return  # it may fit
    text = codec.json.dumps(values)
    with pytest.raises(JournalError, match="must have the fields"):
        codec.from_json(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("claim", '{"amount":"5"}'),
        ("claim", '{"amount":5.0}'),
        ("claim", '{"amount":true}'),
        ("claim", '{"amount":null}'),
        ("claim", '{"amount":5,"more":1}'),
        ("claim", "[5]"),
        ("buy", '{"prices":{"a":"1"},"sent":null}'),
        ("keys", '{"providers":"a"}'),
        ("keys", '{"providers":[1]}'),
        ("prepare", "{}"),
    ],
)
def test_fields_of_other_types_and_steps_of_other_forms_are_refused(name, text):
    with pytest.raises(JournalError, match=r"the journal's|has no step"):
        codec.from_json(name, text)


def test_numbers_that_json_cannot_hold_are_refused_before_anything_is_written(journal):
    with pytest.raises(ValueError, match="JSON compliant"):
        journal.record(1, KINDS["scores"](scores=(float("nan"),)))
    assert journal.entries() == []
