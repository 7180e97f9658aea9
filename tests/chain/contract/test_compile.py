"""Contracts are compiled from source, cached by its hash, and never taken from a damaged cache."""

import json
import shutil

import pytest

from martfl.chain import compile as compile_module
from martfl.chain.compile import SOURCES, compiled
from martfl.chain.network import ChainError

SOURCE = "# pragma version 0.4.3\nx: public(uint256)\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MARTFL_CACHE", str(tmp_path / "cache"))
    compiled.cache_clear()
    (tmp_path / "one.vy").write_text(SOURCE)
    yield tmp_path
    compiled.cache_clear()


def cached(folder):
    return list((folder / "cache" / "contracts").iterdir())


def test_cached_and_found_again(folder):
    first = compiled("one", sources=folder)
    (path,) = cached(folder)
    stamp = path.stat().st_mtime_ns
    compiled.cache_clear()
    assert compiled("one", sources=folder) == first
    assert path.stat().st_mtime_ns == stamp


def test_changed_source_is_compiled_anew(folder):
    first = compiled("one", sources=folder)
    (folder / "one.vy").write_text(SOURCE + "y: public(uint256)\n")
    compiled.cache_clear()
    assert compiled("one", sources=folder).bytecode != first.bytecode
    assert len(cached(folder)) == 2


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_damaged_cache_is_remade(folder, damage):
    first = compiled("one", sources=folder)
    (path,) = cached(folder)
    kept = json.loads(path.read_text())
    path.write_text(path.read_text()[:50] if damage == "cut" else json.dumps({**kept, "bytecode": "0x00"}))
    compiled.cache_clear()
    assert compiled("one", sources=folder) == first


def test_a_cache_that_cannot_be_written_only_costs_time(folder, monkeypatch, caplog):
    monkeypatch.setenv("MARTFL_CACHE", "/dev/null/cache")
    assert compiled("one", sources=folder).bytecode
    assert "cannot be kept" in caplog.text


def test_unknown_contract(folder):
    with pytest.raises(ChainError, match="no contract of that name: 'two'"):
        compiled("two", sources=folder)


def test_changed_interface_is_compiled_anew(folder, monkeypatch):
    """A module and an interface are sources as well."""
    copied = folder / "contracts"
    shutil.copytree(SOURCES, copied)
    monkeypatch.setattr(compile_module, "SOURCES", copied)
    first = compile_module._fingerprint("judge", copied)
    for name in ("interfaces/IJudge.vyi", "leaves.vy"):
        (copied / name).write_text((copied / name).read_text() + "\n")
        second = compile_module._fingerprint("judge", copied)
        assert second != first
        first = second
