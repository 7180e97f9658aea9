"""Readers of the pages: at one machine, in a clone; or at the three of docs/deploy.md."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `reader`, here and in the programs that it types
from reader.datasets import write_datasets
from reader.machines import ANVIL, Machines
from reader.pages import PAGES, ROOT, Page
from reader.terminal import Terminal

from martfl.federation.flower.processes import free_port

QUICKSTART = "docs/quickstart.md"
# Minutes of training.
LONG = {"docs/lab.md", "docs/for-researchers.md", "docs/for-model-owners.md", "docs/payment-limits.md"}
IN_MARKET = "in the quickstart's folder"  # pages that say so find the quickstart's `market`


@pytest.fixture(scope="session")
def pages() -> dict[str, Page]:
    """All pages by name."""
    return {page.name: page for page in PAGES}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`guide`: pages that are read at one machine; those that wait for the quickstart's market come last."""
    if "guide" in metafunc.fixturenames:
        guides = [page for page in PAGES if any(not block.machines for block in page.run())]
        guides.sort(key=lambda page: (IN_MARKET in page.text, page.name != QUICKSTART))
        marked = [pytest.param(page, marks=pytest.mark.long) if page.name in LONG else page for page in guides]
        metafunc.parametrize("guide", marked, ids=[page.name for page in guides])


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
            Terminal.in_clone(folder).follow(pages[QUICKSTART])
            done.touch()
    return folder


@pytest.fixture
def terminal(guide: Page, tmp_path: Path, request: pytest.FixtureRequest) -> Terminal:
    """A terminal in a clone; with what the page speaks of: the quickstart's market, datasets, published results."""
    place = tmp_path / "clone"
    made = Terminal.in_clone(place)
    if IN_MARKET in guide.text:
        shutil.copytree(request.getfixturevalue("quickstart") / "market", place / "market")
    if "--data DATA" in guide.text:
        write_datasets(place / "DATA")
    if any(words in guide.text for words in ("--out results", "--show results", "bench paid")):
        shutil.copytree(ROOT / "results", place / "results")
    if "env:RPC_URL" in guide.text:
        made.more["RPC_URL"] = request.getfixturevalue("sepolia")
    return made


@pytest.fixture
def sepolia() -> Iterator[str]:
    """The URL of a node with Sepolia's chain id."""
    _need_anvil()
    port = free_port()
    command = [str(ANVIL), "--port", str(port), "--chain-id", "11155111", "--silent"]
    node = subprocess.Popen(command, start_new_session=True)
    yield f"http://127.0.0.1:{port}"  # a client waits for a node that is not there yet
    os.killpg(node.pid, signal.SIGKILL)
    node.wait()


def _need_anvil() -> None:
    if not ANVIL.exists():
        pytest.skip("anvil is not installed (npm install)")


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    """Three machines on which docs/deploy.md can be followed."""
    _need_anvil()
    three = Machines(tmp_path)
    yield three
    three.close()
