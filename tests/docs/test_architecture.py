"""The architecture's page, other pages and docstrings name what there is."""

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


def test_a_class_has_a_name_of_its_own():
    places = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(path.relative_to(PACKAGE).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FOREIGN = {"prevrandao", "seal_i"}  # the EVM's word, and a formula's
FILES = [path.relative_to(ROOT).as_posix() for room in (PACKAGE, ROOT / "tests") for path in room.rglob("*.*")]


def docstrings():
    """Everything in backticks in a docstring, by file; and every word of the code beside the docstrings."""
    named, words = [], set(FOREIGN)
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                named += [(path.name, code) for code in CODE.findall(text)]
                node.body[0] = ast.Pass()
        words |= {path.stem, path.parent.name, *re.findall(r"\w+", ast.unparse(tree))}
    for path in PACKAGE.rglob("*.vy*"):
        words |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return named, words


def exists(name):
    """Whether a module is there, and what is named in it after a dot or a colon."""
    place, parts = PACKAGE, name.replace(":", ".").split(".")[1:]
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    is_module = parts and (place / f"{parts[0]}.py").is_file()
    file = place / (f"{parts.pop(0)}.py" if is_module else "__init__.py")
    return not parts or re.search(rf"\b{parts[0]}\b", file.read_text(encoding="utf-8")) is not None


def test_what_docstrings_name_in_code_exists():
    named, words = docstrings()
    single = [(file, code) for file, code in named if re.fullmatch(r"[A-Za-z_]\w*(\(\))?", code)]
    assert len(single) > 500
    assert [(file, code) for file, code in single if code.removesuffix("()") not in words] == []
    dotted = [(file, code) for file, code in named if re.fullmatch(r"martfl(\.\w+)+(:\w+)?", code)]
    assert [(file, code) for file, code in dotted if code != "martfl.toml" and not exists(code)] == []


def test_modules_and_files_that_pages_name_exist(pages):
    named = [(page.name, code) for page in pages.values() for code in CODE.findall(FENCED.sub("", page.text))]
    modules = {(page, code) for page, code in named if re.fullmatch(r"martfl(\.\w+)+(:\w+)?", code)}
    files = {(page, code) for page, code in named if re.fullmatch(r"[\w/]+\.(?:py|vy)", code)}
    assert len(modules) > 10 and len(files) > 30
    assert [(page, code) for page, code in modules if not code.endswith(".toml") and not exists(code)] == []
    missing = [(page, code) for page, code in files if not any(f"/{file}".endswith(f"/{code}") for file in FILES)]
    assert [(page, code) for page, code in missing if not (ROOT / code).exists()] == []
