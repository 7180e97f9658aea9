"""The architecture's page says what the code is."""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "martfl"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_diagram_is_drawn_from_the_imports():
    drawn = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "rooms.py")], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    assert PAGE.split("```mermaid\n")[1].split("```")[0] == drawn


def test_every_file_that_it_names_exists():
    named = re.findall(r"`([\w/]+\.(?:py|vy))`", PAGE)
    assert len(named) > 25
    places = (PACKAGE, ROOT)
    missing = [name for name in named if not any((place / name).exists() for place in places)]
    assert missing == []


# Each of these two rules has a state of its own. Measured results are bound to the names by a digest.
MEASURED = {"State": ["lab/rules/cffl.py", "lab/rules/rffl.py"]}


def test_a_class_has_a_name_of_its_own():
    places = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(path.relative_to(PACKAGE).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == MEASURED
