"""Contracts that a wheel ships are those of its sources, or are not used."""

import json

import pytest

from martfl.chain import compile as compiling


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A shipped file of our own, in place of the package's; nothing is remembered from other tests."""
    file = tmp_path / "compiled.json"
    monkeypatch.setattr(compiling, "SHIPPED", file)
    compiling.compiled.cache_clear()
    yield file
    compiling.compiled.cache_clear()


def test_what_is_shipped_is_what_compiles(shipped):
    made = compiling.compiled("exact")
    compiling.ship(shipped)
    compiling.compiled.cache_clear()
    assert compiling.compiled("exact") == made


@pytest.mark.long
def test_shipped_contracts_need_no_compiler_and_others_do(shipped, monkeypatch):
    compiling.ship(shipped)
    monkeypatch.setitem(__import__("sys").modules, "vyper", None)
    assert compiling.compiled("sampled").runtime
    kept = json.loads(shipped.read_text())
    shipped.write_text(json.dumps(kept | {"sources": "of another version"}))
    compiling.compiled.cache_clear()
    with pytest.raises(ModuleNotFoundError, match="vyper"):
        compiling.compiled("exact")
