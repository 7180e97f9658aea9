"""The journal: steps once, blobs first come, and clear words where a disk, a lock or a file fails."""

import shutil
import stat
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.market.errors import JournalError
from martfl.market.journal import NAME, Journal
from martfl.market.memory import pack_state, unpack_state


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "party") as opened:
        yield opened


def test_a_step_is_worked_out_once(journal):
    calls = []
    for _ in range(3):
        assert journal.once(1, "open", lambda: calls.append(1) or {"gas": 5}) == {"gas": 5}
    assert len(calls) == 1
    with pytest.raises(JournalError):
        journal.record(1, "open", {"gas": 6})


def test_a_step_that_fails_is_not_recorded(journal):
    with pytest.raises(ZeroDivisionError):
        journal.once(1, "open", lambda: 1 // 0)
    assert journal.recall(1, "open") is None
    assert journal.once(1, "open", lambda: None) is None
    assert journal.recall(1, "open").value is None


def test_everything_is_there_after_a_restart(journal):
    journal.once(2, "select", lambda: [1, 2])
    journal.keep_all(2, {"a": b"1", "b": b"2"})
    journal.keep(2, "a", b"another")
    journal.remark(2, "0xabc", "forged score", "once")
    journal.remark(2, "0xabc", "forged score", "twice")
    journal.close()
    with Journal(journal.folder) as again:
        assert [step.name for step in again.steps()] == ["select"]
        assert (again.blob(2, "a"), again.blob(2, "b"), again.blob(2, "c")) == (b"1", b"2", None)
        assert [r.detail for r in again.remarks(subject="0xabc")] == ["once"]
        again.forget(2, keep=frozenset({"b"}))
        assert (again.blob(2, "a"), again.blob(2, "b")) == (None, b"2")


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
        assert reader.steps() == []


def test_a_reader_writes_nothing(journal):
    with Journal(journal.folder, read_only=True) as reader, pytest.raises(JournalError):
        reader.record(1, "open", None)


def test_a_full_disk_leaves_nothing_half_written(journal):
    journal.once(1, "open", lambda: 1)
    pages = journal._db.execute("PRAGMA page_count").fetchone()[0]
    journal._db.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(JournalError, match=r"nothing was half-written.*full"):
        journal.keep_all(1, {"small": b"1", "large": bytes(1 << 20)})
    with pytest.raises(JournalError, match="full"):
        journal.once(1, "invite", lambda: "x" * 100_000)
    assert journal.blob(1, "small") is None and journal.recall(1, "invite") is None
    journal._db.execute("PRAGMA max_page_count = 1000000")  # somebody made room
    assert journal.once(1, "invite", lambda: 2) == 2
    assert journal._db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_a_disk_that_takes_no_more_bytes(tmp_path):
    """A limit of the operating system on file sizes, in a process of its own."""
    code = """
import resource, signal, sys
from pathlib import Path
from martfl.market.errors import JournalError
from martfl.market.journal import Journal
journal = Journal(Path(sys.argv[1]))
journal.once(1, "open", lambda: 1)
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
        assert again.recall(1, "open").value == 1 and again.blob(1, "small") is None


@pytest.mark.parametrize("damage", ["replaced", "header", "middle"])
def test_a_damaged_file_is_named(tmp_path, damage):
    folder = tmp_path / "party"
    with Journal(folder) as journal:
        for i in range(200):
            journal.record(i, "open", "x" * 200)
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
        broken.steps()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises((JournalError, OSError)):
        Journal(tmp_path / "file" / "party")


def test_a_copy_taken_while_open_is_whole(journal, tmp_path):
    journal.record(1, "open", 1)
    shutil.copytree(journal.folder, tmp_path / "copy")
    with Journal(tmp_path / "copy") as copy:
        assert copy.recall(1, "open").value == 1


@given(plain=st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.text(max_size=9), max_size=4))
def test_a_strategys_memory_comes_back(plain):
    state = {**plain, "an array": np.arange(5.0)}
    state.pop("plain values", None)
    again = unpack_state(pack_state(state))
    assert again.pop("an array").tolist() == [0, 1, 2, 3, 4]
    assert again == {key: value for key, value in state.items() if key != "an array"}
