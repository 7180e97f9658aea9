"""A ceremony's file: round trips, damage, and from hand to hand through the command."""

import json
import zipfile

import pytest
from typer.testing import CliRunner

from martfl.cli import app
from martfl.errors import InputError
from martfl.settlement.errors import CeremonyError, SettlementError
from martfl.settlement.sampled import ceremony, keys
from martfl.settlement.sampled.ceremony import file as files
from martfl.settlement.sampled.circuit import compile_circuit
from martfl.settlement.sampled.statement import Shape

TINY = Shape(providers=1, samples=1, update_bits=2, aggregate_bits=2, model_bits=2, eta=22)


@pytest.fixture(scope="module")
def held():
    """A finished ceremony for the smallest circuit."""
    circuit = compile_circuit(TINY)
    powers = ceremony.contribute(ceremony.start(circuit), by="Ann")
    return ceremony.contribute(ceremony.prepare(powers, circuit), by="Ben")


@pytest.fixture
def path(held, tmp_path):
    files.save(held, tmp_path / "market.ceremony", shape=TINY)
    return tmp_path / "market.ceremony"


def rewrite(path, changes):
    """The archive with some entries changed; None leaves one out."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()} | changes
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            if data is not None:
                archive.writestr(name, data)


def test_a_file_comes_back_and_passes_the_check(held, path):
    loaded, shape = files.load(path)
    assert shape == TINY
    assert loaded.transcript.hash() == held.transcript.hash()
    key = ceremony.check(loaded, compile_circuit(TINY))
    assert keys.key_hash(key.verifying) == keys.key_hash(held.key.verifying)
    assert [c.by for c, _ in ceremony.receipts(loaded.transcript)] == ["Ann", "Ben"]


def test_an_installed_key_is_that_of_the_ceremony_and_is_never_remade(held, tmp_path):
    place = keys.install(held.key, shape=TINY, folder=tmp_path)
    assert keys.key_hash(keys.ceremony_keys(TINY, folder=tmp_path).verifying) == keys.key_hash(held.key.verifying)
    alone = keys.cached_keys(TINY, folder=tmp_path)
    assert keys.key_hash(alone.verifying) != keys.key_hash(held.key.verifying)
    place.write_bytes(place.read_bytes()[:-1])
    with pytest.raises(SettlementError, match="truncated or corrupted"):
        keys.ceremony_keys(TINY, folder=tmp_path)
    place.unlink()
    with pytest.raises(SettlementError, match="no key of a ceremony is installed for 1 providers and 1 samples"):
        keys.ceremony_keys(TINY, folder=tmp_path)


@pytest.mark.parametrize(
    ("entry", "data", "message"),
    [
        ("tau_1", None, "not the file of a ceremony"),
        ("tau_1", b"x" * 33, "tau_1 has 32736 bytes as they are for this circuit, the file has 33"),
        ("tau_2", b"\xff" * 64, "the file has points for 1"),
        ("beta_2", b"\xff" * 64, "not a point of G2"),
        ("beta_2", b"", "beta_2 has 64 bytes as they are for this circuit, the file has 0"),
        ("key_0", b"", "key_0 has 96 bytes as they are for this circuit, the file has 0"),
        ("key_6", None, "not the file of a ceremony"),
        ("record.json", b"{", "not the file of a ceremony"),
        ("record.json", b'{"version": 99}', "circuit version 99"),
        ("record.json", b"[]", "not the file of a ceremony"),
    ],
)
def test_damaged_files_are_refused(path, entry, data, message):
    rewrite(path, {entry: data})
    with pytest.raises(SettlementError, match=message):
        files.load(path)


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"nothing of the kind")
    with pytest.raises(SettlementError, match="x is not the file of a ceremony"):
        files.load(tmp_path / "x")


def test_a_point_exchanged_in_the_file_is_refused_by_the_check(path):
    with zipfile.ZipFile(path) as archive:
        table = archive.read("key_5")  # the private wires
    rewrite(path, {"key_5": table[32:64] + table[:32] + table[64:]})
    loaded, _ = files.load(path)
    with pytest.raises(CeremonyError, match="private wires"):
        ceremony.check(loaded, compile_circuit(TINY))


def test_the_command_takes_a_file_from_hand_to_hand(tmp_path, monkeypatch):
    monkeypatch.setenv("MARTFL_CACHE", str(tmp_path / "cache"))
    path = str(tmp_path / "market.ceremony")

    def call(*words):
        ended = CliRunner().invoke(app, ["ceremony", *words, "--json"], catch_exceptions=False)
        assert ended.exit_code == 0
        return json.loads(ended.stdout)

    call("start", path, "--providers", "1", "--samples", "1")
    receipt = call("contribute", path, "--by", "Ann")["contributions"][-1]["receipt"]
    call("prepare", path)
    call("contribute", path, "--by", "Ben")
    checked, installed = call("check", path), call("install", path)
    assert checked == installed
    assert [(c["phase"], c["by"]) for c in checked["contributions"]] == [(1, "Ann"), (2, "Ben")]
    assert checked["contributions"][0]["receipt"] == receipt
    key = keys.ceremony_keys(Shape(providers=1, samples=1))
    assert keys.key_hash(key.verifying).hex() == checked["key"]
    with pytest.raises(InputError, match="is not overwritten"):
        call("start", path, "--providers", "1", "--samples", "1")
