"""What code rests on: names followed through modules; what does nothing leaves the digest alone."""

from pathlib import Path

import pytest

from martfl.lab.sources import Place, Sources, digest

FILES = {
    "__init__.py": "",
    "run.py": """
        from pack.tools import helper as used
        from pack import classes, tables, other
        from pack.inner import passed_on
        LIMIT, REST = 3, 4
        def run(x: Hint) -> Hint:
            from pack.late import late
            return used(x) + LIMIT + tables.VALUE + passed_on(x) + late()
        def by_name():
            return load("pack.named")
        def everything():
            return inspect(other)
        def shop(basket):
            return classes.Stall().sell(basket) + getattr(basket, "price")
        """,
    "tools.py": "DEEP = 1\ndef helper(x):\n    return x + DEEP\ndef unused():\n    return 0\n",
    "tables.py": "VALUE = 1\nFURTHER = 2\nprint('imported')\n",
    "other.py": "A = 1\nB = A\n",
    "inner/__init__.py": "from pack.inner.deep import passed_on\nREGISTRY = [passed_on]\n",
    "inner/deep.py": "def passed_on(x):\n    return x\n",
    "classes.py": """
        from typing import Protocol
        import torch
        from torch import Module
        class Trader(Protocol):
            def sell(self): ...
            def haggle(self): ...
        class Stall(Trader):
            rent = 1
            def __init__(self): self._open()
            def _open(self): self.goods = GOODS
            def sell(self, basket): return self._weigh(basket)
            def _weigh(self, basket): return basket
            def price(self): return 1
            def haggle(self): return self._shout()
            def _shout(self): return LOUD
        class Model(Module):
            def forward(self): return LOUD
        class Step(torch.Function):
            def forward(self): return LOUD
        GOODS, LOUD = 2, 3
        """,
    "late.py": "def late():\n    return 0\n",
    "named.py": "def here():\n    return 0\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "pack" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = text.splitlines()
        path.write_text("\n".join(line.removeprefix(" " * 8) for line in lines) + "\n")
    return tmp_path / "pack"


def reached(folder: Path, name: str, *cut: str) -> set[str]:
    return {str(place) for place in Sources(folder).reach([Place("pack.run", name)], cut=cut)}


def test_names_are_followed_to_where_they_are_defined(folder: Path) -> None:
    assert reached(folder, "run") == {
        "pack.run:", "pack.run:run", "pack.run:LIMIT", "pack.tools:", "pack.tools:helper", "pack.tools:DEEP",
        "pack.tables:", "pack.tables:VALUE", "pack.inner.deep:", "pack.inner.deep:passed_on", "pack.late:",
        "pack.late:late",
    }  # fmt: skip


def test_a_module_that_is_passed_around_or_named_counts_as_a_whole(folder: Path) -> None:
    assert reached(folder, "everything") >= {"pack.other:A", "pack.other:B"}
    assert "pack.named:here" in reached(folder, "by_name")


def test_of_a_class_those_methods_count_whose_names_occur(folder: Path) -> None:
    stall = {str(p) for p in Sources(folder).reach([Place("pack.run", "shop")])}
    assert {f"pack.classes:Stall{name}" for name in ("", "._open", ".sell", "._weigh", ".price")} <= stall
    assert "pack.classes:GOODS" in stall and "pack.classes:Trader.sell" in stall
    assert not {"pack.classes:Stall.haggle", "pack.classes:Stall._shout", "pack.classes:LOUD"} & stall


def test_a_class_of_others_counts_as_a_whole_since_these_may_call_it(folder: Path) -> None:
    for name in ("Model", "Step"):
        assert "pack.classes:LOUD" in {str(p) for p in Sources(folder).reach([Place("pack.classes", name)])}


def test_what_is_cut_is_not_entered(folder: Path) -> None:
    assert "pack.tools:helper" not in reached(folder, "run", "pack.tools:")
    assert "pack.tools:DEEP" not in reached(folder, "run", "pack.tools:helper")


def digest_of(folder: Path) -> str:
    return digest(Sources(folder).reach([Place("pack.run", "run")]))


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("tools.py", "DEEP = 1", "DEEP = 2", True),
        ("tools.py", "return x + DEEP", "return x - DEEP", True),
        ("inner/deep.py", "return x", "return x + 1", True),
        ("tables.py", "print('imported')", "print('twice')", True),
        ("tools.py", "return 0", "return 1", False),  # nobody uses it
        ("tools.py", "DEEP = 1", "DEEP  =  1  # deep", False),
        ("tools.py", "def helper(x):", 'def helper(x: int) -> int:\n    """Helps."""', False),
        ("inner/__init__.py", "[passed_on]", "[passed_on, 1]", False),
        ("tables.py", "FURTHER = 2", "FURTHER = 3", False),
    ],
)
def test_the_digest_changes_with_what_is_done(folder: Path, file: str, old: str, new: str, changes: bool) -> None:
    before = digest_of(folder)
    path = folder / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert (digest_of(folder) != before) == changes
