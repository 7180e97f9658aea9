"""Pages, their fenced blocks, and a terminal in which a reader's commands run."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUICKSTART = "docs/quickstart.md"
RUN_MARK = "<!-- tests/docs runs the sh and python blocks of this page"
IN_MARKET = "in the quickstart's folder"  # pages that say so find the quickstart's `market`
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}


@dataclass(frozen=True)
class Block:
    """A fenced block, and the line of its page that it begins in."""

    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Page:
    """A Markdown page of the repository."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    def blocks(self) -> list[Block]:
        found = FENCE.finditer(self.text)
        return [Block(self.text.count("\n", 0, match.start()) + 1, match[1], match[2]) for match in found]


def read_pages() -> list[Page]:
    """README, CONTRIBUTING and everything in docs and experiments."""
    paths = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "experiments" / "README.md"]
    return [Page(path, path.read_text(encoding="utf-8")) for path in sorted(paths)]


PAGES = read_pages()


@pytest.fixture(scope="session")
def pages() -> dict[str, Page]:
    """All pages by name."""
    return {page.name: page for page in PAGES}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`guide`: pages whose blocks are run; those that wait for the quickstart's market come last."""
    if "guide" in metafunc.fixturenames:
        guides = [page for page in PAGES if RUN_MARK in page.text]
        guides.sort(key=lambda page: (IN_MARKET in page.text, page.name != QUICKSTART))
        metafunc.parametrize("guide", guides, ids=[page.name for page in guides])


@dataclass(frozen=True)
class Terminal:
    """A folder, a home of its own, and the `martfl` of this environment."""

    folder: Path

    def follow(self, page: Page) -> None:
        """Run a page's blocks in order. A `text` block after a `python` block is what that prints."""
        for block, after in pairwise([*page.blocks(), Block(0, "", "")]):
            if block.language in COMMANDS:
                printed = self._run(page, block)
            if block.language == "python" and after.language == "text":
                assert printed == after.text, f"{page.name}:{after.line} shows what is not printed"

    def _run(self, page: Page, block: Block) -> str:
        command = [*COMMANDS[block.language], block.text]
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment(), capture_output=True, text=True, timeout=300
        )
        said = f"{page.name}:{block.line} ended with {done.returncode}:\n{done.stderr}{done.stdout}"
        assert done.returncode == 0, said
        return done.stdout

    def _environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("MARTFL_")}
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        cache = os.environ.get("MARTFL_CACHE") or str(caches / "martfl")  # generators and contracts are made once
        tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {"HOME": str(self.folder / "home"), "MARTFL_CACHE": cache, "PATH": tools, "OMP_NUM_THREADS": "1"}
        return {**kept, **own}


@pytest.fixture(scope="session")
def quickstart(tmp_path_factory: pytest.TempPathFactory, pages: dict[str, Page]) -> Path:
    """The folder in which the quickstart was followed, once for all workers: other pages use the `market` in it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = shared / "quickstart", shared / "quickstart.done"
    with (shared / "quickstart.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
            folder.mkdir()
            Terminal(folder).follow(pages[QUICKSTART])
            done.touch()
    return folder


@pytest.fixture
def terminal(guide: Page, tmp_path: Path, request: pytest.FixtureRequest) -> Terminal:
    """A terminal where the page wants it: in an empty folder, or in one with the quickstart's market."""
    if IN_MARKET in guide.text:
        shutil.copytree(request.getfixturevalue("quickstart") / "market", tmp_path / "market")
    return Terminal(tmp_path)
