"""Files made to hang or crash whoever checks them: each is refused in words, before anything large is read or made."""

import contextlib
import json
import struct
import sys
import zipfile
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from martfl.cli import app
from martfl.settlement.errors import SettlementError
from martfl.settlement.sampled import ceremony
from martfl.settlement.sampled.ceremony import file as files
from martfl.settlement.sampled.ceremony.transcript import MOST_CONTRIBUTIONS, Transcript
from martfl.settlement.sampled.circuit import compile_circuit
from martfl.settlement.sampled.statement import Shape

TINY = Shape(providers=1, samples=1, update_bits=2, aggregate_bits=2, model_bits=2, eta=22)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The entries of a file in its first phase."""
    path = tmp_path_factory.mktemp("sound") / "market.ceremony"
    files.save(ceremony.contribute(ceremony.start(compile_circuit(TINY)), by="Ann"), path, shape=TINY)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, entries, **how):
    with zipfile.ZipFile(path, "w", **how) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path


def with_record(entries, **changes):
    return entries | {"record.json": json.dumps(json.loads(entries["record.json"]) | changes).encode()}


def refused(path, message):
    """By the command, in one line, without a traceback."""
    ended = CliRunner().invoke(app, ["ceremony", "check", str(path)])
    assert isinstance(ended.exception, SettlementError), ended.exception
    assert message in str(ended.exception)
    assert len(str(ended.exception)) < 500


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"providers": 10**9}, "integers from 0 to"),
        ({"samples": 10**400}, "integers from 0 to"),
        ({"providers": 1e308}, "integers from 0 to"),
        ({"providers": True}, "integers from 0 to"),
        ({"providers": "9" * 5000}, "integers from 0 to"),
        ({"providers": [[1]]}, "integers from 0 to"),
        ({"providers": -1}, "integers from 0 to"),
        ({"providers": 0}, "at least one provider"),
        ({"providers": 128, "samples": 126}, "the file has points for 512"),
        ({"providers": 500_000, "samples": 500_000}, "the file has points for 512"),
        ({"eta": 500_000}, "η is at most 64"),
        ({"update_bits": 33}, "update_bits lies in 2..32"),
        ({"colour": 3}, "not the file of a ceremony"),
    ],
)
def test_absurd_shapes(sound, tmp_path, shape, message):
    refused(write(tmp_path / "x", with_record(sound, shape=asdict(TINY) | shape)), message)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (b"[" * 200_000, "nested at most 8 deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested at most 8 deep"),
        (b'["\\"", ' + b"[" * 200_000, "nested at most 8 deep"),
        (b'"' + b"[" * 200_000, "nested at most 8 deep"),
        (("\u2200" + "[" * 200_000 + "\u2200").encode("utf-16-le"), "not the file of a ceremony"),
        (b'"\\\n" ' + b"[" * 200_000 + b'"', "nested at most 8 deep"),
        (b" " * (1 << 20) + b"{}", "at most 1048576 bytes"),
        (b'{"version": 1, "shape": 1e999}', "not the file of a ceremony"),
        (b'{"version": 1, "shape": {"providers": 1e999, "samples": 1}}', "integers from 0 to"),
        (b'{"version": ' + b"9" * 4000 + b"}", "circuit version 99999999999999999999,"),
        (b'{"version": "' + b"v" * 9000 + b'"}', "circuit version vvvv"),
        (b"\xff\xfe\x00", "not the file of a ceremony"),
        (b"null", "not the file of a ceremony"),
    ],
)
def test_absurd_records(sound, tmp_path, record, message):
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 100_000))  # as libraries for Ethereum do when imported
    refused(write(tmp_path / "x", sound | {"record.json": record}), message)


STEP = ["00" * 32, "00" * 32, "1"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"contributions": [{}] * (MOST_CONTRIBUTIONS + 1)}, "at most 256 contributions, got 257"),
        ({"contributions": [{}]}, "malformed"),
        ({"contributions": "x" * 100}, "malformed"),
        ({"contributions": {"phase": 1}}, "malformed"),
        ({"contributions": [{"phase": 3, "by": "Eve", "steps": {"tau": STEP}}]}, "malformed"),
        ({"contributions": [{"phase": True, "by": "Eve", "steps": {}}]}, "malformed"),
        ({"contributions": [{"phase": [], "by": "Eve", "steps": {}}]}, "malformed"),
        ({"contributions": [{"phase": 2, "by": "Eve", "steps": {"delta": STEP * 9}}]}, "malformed"),
        ({"contributions": [{"phase": 2, "by": "Eve", "steps": {"delta": STEP}}]}, "point of G1"),
        (
            {"contributions": [{"phase": 2, "by": "Eve", "steps": dict.fromkeys(map(str, range(999)), STEP)}]},
            "malformed",
        ),
        ({"circuit": "x" * 100_000}, "malformed"),
        ({"circuit": 7}, "malformed"),
    ],
)
def test_absurd_contributions(sound, tmp_path, changes, message):
    refused(write(tmp_path / "x", with_record(sound, **changes)), message)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("by", "E" * 100_000, "1 to 100 printable"),
        ("by", "\x1b[2J", "1 to 100 printable"),
        ("by", 5, "malformed"),
        ("response", "9" * 100_000, "a response is a number"),
        ("response", 5, "a response is a number"),
        ("point", "zz" * 32, "malformed"),
        ("point", "00" * 10_000, "32 bytes, got 10000"),
    ],
)
def test_absurd_fields_of_a_contribution(sound, tmp_path, field, value, message):
    record = json.loads(sound["record.json"])
    entry = record["contributions"][0]
    if field == "by":
        entry["by"] = value
    else:
        entry["steps"]["tau"][{"point": 0, "response": 2}[field]] = value
    refused(write(tmp_path / "x", sound | {"record.json": json.dumps(record).encode()}), message)


def test_a_table_that_would_unpack_to_gigabytes(sound, tmp_path):
    bomb = sound | {"tau_1": bytes(1 << 27)}
    path = write(tmp_path / "x", bomb, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 20
    refused(path, "record.json is stored as it is")
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in bomb.items():
            archive.writestr(name, data, zipfile.ZIP_DEFLATED if name == "tau_1" else zipfile.ZIP_STORED)
    refused(path, "tau_1 has 32736 bytes as they are for this circuit, the file has 134217728")


def test_tables_for_more_constraints_than_are_read(sound, tmp_path):
    """The list of entries claims them; nothing of them is there."""
    path = write(tmp_path / "x", sound)
    raw = bytearray(path.read_bytes())
    at = raw.index(b"tau_2", raw.index(b"PK\1\2")) - 46  # of the list, not of the entry itself
    assert raw[at : at + 4] == b"PK\1\2"
    for field in (20, 24):
        struct.pack_into("<L", raw, at + field, (1 << 32) - 64)
    path.write_bytes(raw)
    refused(path, "at most 524288 are read")


def test_lists_of_very_many_entries(sound, tmp_path):
    refused(write(tmp_path / "x", sound | {f"more_{i}": b"" for i in range(20)}), "its list of entries is another one")
    refused(write(tmp_path / "x", sound | {"n" * 60_000: b""}), "its list of entries is another one")
    path = write(tmp_path / "x", sound)
    raw = path.read_bytes()
    path.write_bytes(raw[:-22] + b"PK\6\7" + bytes(16) + raw[-22:])
    refused(path, "very large archive")
    path.write_bytes(raw[:-2] + struct.pack("<H", 5) + b"hello")
    refused(path, "its list of entries is another one")


def test_what_is_no_file_or_far_too_large(tmp_path):
    refused(tmp_path, "is not the file of a ceremony")
    (tmp_path / "empty").touch()
    refused(tmp_path / "empty", "is not the file of a ceremony")
    with (tmp_path / "large").open("wb") as file:
        file.truncate((1 << 28) + 1)  # holes: it takes no room
    refused(tmp_path / "large", "22 to 268435456 bytes, got 268435457")


def test_an_encrypted_entry(sound, tmp_path):
    path = write(tmp_path / "x", sound)
    raw = bytearray(path.read_bytes())
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        raw[raw.index(mark) + place] |= 1
    path.write_bytes(raw)
    refused(path, "not the file of a ceremony")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_damage_ends_in_anything_but_words(sound, tmp_path_factory, data):
    """Bytes changed anywhere: the file is read, or refused by an error of settlement."""
    path = write(tmp_path_factory.mktemp("damage") / "x", sound)
    raw = bytearray(path.read_bytes())
    ends = st.one_of(st.integers(0, len(raw) - 1), st.integers(len(raw) - 600, len(raw) - 1), st.integers(0, 900))
    for at in data.draw(st.lists(ends, min_size=1, max_size=4)):
        raw[at] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.sampled_from([len(raw), len(raw) - 1, len(raw) // 2]))])
    with contextlib.suppress(SettlementError, OSError):
        files.load(path)


def test_brackets_in_names_are_not_nesting(tmp_path):
    begun = ceremony.contribute(ceremony.start(compile_circuit(TINY)), by='[{"' * 30)
    files.save(begun, tmp_path / "x", shape=TINY)
    assert files.load(tmp_path / "x")[0].transcript == begun.transcript


def test_nobody_adds_to_a_full_record():
    contribution = Transcript("0" * 64).extended(2, "Ann", {"delta": 5}).contributions[0]
    full = Transcript("0" * 64, (contribution,) * MOST_CONTRIBUTIONS)
    with pytest.raises(SettlementError, match="at most 256 contributions, got 257"):
        full.extended(2, "Ben", {"delta": 7})
