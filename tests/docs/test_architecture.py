"""The architecture's page says what the code is."""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_diagram_is_drawn_from_the_imports():
    drawn = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "rooms.py")], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    assert PAGE.split("```mermaid\n")[1].split("```")[0] == drawn


def test_every_file_that_it_names_exists():
    named = re.findall(r"`([\w/]+\.(?:py|vy))`", PAGE)
    assert len(named) > 25
    places = (ROOT / "src" / "martfl", ROOT)
    missing = [name for name in named if not any((place / name).exists() for place in places)]
    assert missing == []


# Measured results are bound to the lab's definitions by a digest: these keep the names that they were measured under.
# `State` is the contract's own word.
KEPT = {"Offer", "Record", "Source", "Split", "State"}


def test_a_class_has_a_name_of_its_own():
    places = {}
    for path in sorted((ROOT / "src" / "martfl").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(path.name)
    assert {name: found for name, found in places.items() if len(found) > 1 and name not in KEPT} == {}
