"""A small core, extras by role, and a word on what is missing."""

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import martfl
from martfl import extras

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = PROJECT["optional-dependencies"]
ROLES = ("lab", "provider", "acquirer", "demo", "tracking", "ray", "llm")
WITHOUT = """
import sys
class Without:
    def __init__(self, finder): self.finder = finder
    def __getattr__(self, name): return getattr(self.finder, name)
    def find_spec(self, name, *more): return None if name in {absent!r} else self.finder.find_spec(name, *more)
sys.meta_path[:] = map(Without, sys.meta_path)
sys.argv = {words!r}
{then}
"""


def distributions(requirements):
    found = (re.match(r"[\w.-]+", requirement)[0] for requirement in requirements)
    return {re.sub(r"[-_.]+", "-", name).lower() for name in found} - {"martfl"}


def brought(extra):
    """Distributions that an extra installs, through the extras that it names too."""
    names = distributions(OPTIONAL[extra])
    for requirement in OPTIONAL[extra]:
        if inner := re.match(r"martfl\[(.+)\]", requirement):
            names = names.union(*(brought(one) for one in inner[1].split(",")))
    return names


def importable():
    """Import names of installed distributions."""
    found = {}
    for module, names in importlib.metadata.packages_distributions().items():
        for name in names:
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), set()).add(module)
    return found


def test_every_library_is_named_with_an_extra_that_brings_it():
    modules = importable()
    for library, extra in extras.EXTRA_OF.items():
        brings = set().union(*(modules.get(name, set()) for name in brought(extra)))
        assert library in brings or library == "eth", library  # py-evm comes with eth-tester
    wanted = set().union(*(distributions(OPTIONAL[role]) for role in ROLES)) - {"httpx"}  # Flower brings it
    named = {name for name in wanted if modules.get(name, set()) & set(extras.EXTRA_OF)}
    assert named == wanted


def test_the_core_has_none_of_them():
    core = distributions(PROJECT["dependencies"])
    assert not core & set().union(*(distributions(OPTIONAL[role]) for role in ROLES))


def test_all_brings_every_role():
    assert brought("all") == set().union(*(brought(role) for role in ROLES))


def run_without(absent, *words, then="from martfl.cli import main; main()"):
    """A command where some libraries cannot be imported."""
    code = WITHOUT.format(absent=list(absent), words=["martfl", *map(str, words)], then=then)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("absent", "words", "extra"),
    [
        (["torch"], ["lab", "table", "x.toml"], "lab"),
        (["torch"], ["demo"], "demo"),
        (["tenseal"], ["bench", "scoring"], "provider"),
        (["uvicorn"], ["dashboard", "--journal", "."], "acquirer"),
        (["zksnake"], ["ceremony", "check", "x"], "provider"),
    ],
)
def test_a_missing_library_is_named_with_the_command_that_brings_it(absent, words, extra):
    done = run_without(absent, *words)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line == (
        f"error: this needs the library {absent[0]}, which is not installed here. Get it with: "
        f"pip install 'martfl[{extra}]'"
    )


def test_a_missing_module_of_our_own_is_a_fault():
    assert run_without(["martfl.demo"], "demo").returncode == 70


def test_the_core_alone_helps_starts_a_market_and_looks_around(tmp_path):
    assert run_without(extras.EXTRA_OF, "--help").returncode == 0
    assert run_without(extras.EXTRA_OF, "init", "--out", tmp_path / "market.toml").returncode == 0
    looked = run_without(extras.EXTRA_OF, "doctor", tmp_path / "market.toml", "--chain", "nowhere")
    assert looked.returncode == 1 and "no chain is called" in looked.stdout
    rooms = "import martfl.market.auditor, martfl.market.settling, martfl.chain.open, martfl.chain.rpc"
    assert run_without(extras.EXTRA_OF, then=rooms).returncode == 0


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["dynamic"] and "version" not in PROJECT
    (cited,) = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited == martfl.__version__
    assert f"## {martfl.__version__}" in (ROOT / "CHANGELOG.md").read_text()


# --- the wheel -------------------------------------------------------------------------------------------------------


def _run(*command, **more):
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MARTFL_CACHE")}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, env=clean, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel():
    """What `make wheel` builds."""
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run([ROOT / "tools" / "wheel"], capture_output=True, text=True, check=True, env=environment)
    return ROOT / done.stdout.split()[-1]


@pytest.mark.long
def test_the_wheel_alone_helps_and_reads_and_with_the_demo_extra_trades(wheel, tmp_path):
    """Outside the clone, from nothing: first the core, then everything that the demo needs."""
    python, program = tmp_path / "venv" / "bin" / "python", tmp_path / "venv" / "bin" / "martfl"
    install = [python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt"]
    home = {"cwd": tmp_path}
    _run(sys.executable, "-m", "venv", tmp_path / "venv")
    _run(*install, wheel, **home)
    assert _run(program, "--version", **home).strip() == martfl.__version__
    shipped = "from martfl.chain.compile import compiled; print(len(compiled('exact').runtime) > 1000)"
    assert _run(python, "-c", shipped, **home).strip() == "True"
    refused = subprocess.run([program, "demo"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert refused.returncode == 2 and "pip install 'martfl[demo]'" in refused.stderr
    _run(*install, f"{wheel}[demo]", **home)
    told = _run(program, "demo", "--providers", "4", "--epochs", "1", "--out", "market", **home)
    assert "Report:" in told and (tmp_path / "market" / "report.html").is_file()
    _run(program, "report", "market", "--out", "again.html", **home)
