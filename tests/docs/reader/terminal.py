"""A terminal in a clone of this repository, in which a reader types what pages show."""

import os
import pty
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from martfl.federation.flower.processes import free_port
from reader.pages import ROOT, Block, Page
from reader.smaller import is_exempt

TOOLS = Path(sys.executable).parent
LINKED = (
    "src",
    "tests",
    "experiments",
    "examples",
    "node_modules",
    "Makefile",
    "pyproject.toml",
    "constraints.txt",
    "requirements",
)
WRAPPER = """#!{python}
import os, sys
sys.path.insert(0, {here!r})
from reader.smaller import shrink
program, name = {program!r}, {name!r}
os.execv(program, [program, *shrink([name, *sys.argv[1:]])[1:]])  # by its path: it finds its packages from there
"""
SHELL = ["bash", "-euo", "pipefail", "-c"]
COMMANDS = {"sh": SHELL, "python": [sys.executable, "-c"]}


def make_clone(folder: Path) -> Path:
    """The repository as a fresh clone with its `.venv`, whose programs are this environment's, with less to do."""
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in LINKED:
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    for name in ("martfl", "python"):
        wrap(TOOLS / name, programs / name)
    (folder / ".venv" / ".ready").touch()
    return programs


def wrap(program: Path, place: Path) -> None:
    """Put a program at `place` that runs `program` with the options that make its work small."""
    here = str(Path(__file__).parents[1])
    text = WRAPPER.format(python=sys.executable, here=here, program=str(program), name=place.name)
    place.write_text(text)
    place.chmod(0o755)


@dataclass
class Terminal:
    """A folder, a home, and the programs of a clone before all others."""

    folder: Path
    home: Path
    programs: Path
    more: dict[str, str] = field(default_factory=dict)  # environment

    @classmethod
    def in_clone(cls, folder: Path) -> "Terminal":
        """Where most pages are read."""
        return cls(folder, folder / "home", make_clone(folder))

    def follow(self, page: Page) -> None:
        """Type a page's blocks in order. A `text` block after a `python` block is what that prints."""
        for block, after in pairwise([*page.blocks(), Block(0, "", "")]):
            if block.machines:
                continue  # read on those machines
            if block.file:
                (self.folder / block.file).write_text(block.text)
            elif block.language in COMMANDS and block.goes_on:
                self.visit(page, block)
            elif block.language in COMMANDS:
                printed = self.type(page, block)
                if block.language == "python" and after.language == "text":
                    assert printed == after.text, f"{page.name}:{after.line} shows what is not printed"

    def type(self, page: Page, block: Block, text: str | None = None) -> str:
        """Run a block to its end; what it printed."""
        keyboard, stdin = pty.openpty()  # passwords are asked for at a terminal only
        process = self.start(block, text, stdin=stdin)
        os.close(stdin)
        os.set_blocking(keyboard, False)
        threading.Thread(target=self._answer, args=(process, keyboard), daemon=True).start()
        out, error = process.communicate(timeout=1200)
        assert process.returncode == 0, f"{page.name}:{block.line} ended with {process.returncode}:\n{error}{out}"
        return out

    def _answer(self, process: subprocess.Popen[str], keyboard: int) -> None:
        """Type a password again and again: a prompt throws away what was typed before it."""
        while process.poll() is None:
            with suppress(OSError):  # nobody reads
                os.write(keyboard, b"correct horse\n")
            time.sleep(0.5)
        os.close(keyboard)

    def visit(self, page: Page, block: Block, text: str | None = None) -> str:
        """Start a block that serves a web page, open the page, stop it with Ctrl-C; what the page showed."""
        process = self.start(block, text)
        try:
            line = process.stdout.readline()
            assert line.startswith("http"), f"{page.name}:{block.line}: {process.stderr.read()}"
            shown = self._open(line.split()[0])
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=300)
        return shown

    def _open(self, address: str) -> str:
        token = self.folder / "token"
        headers = {"Authorization": f"Bearer {token.read_text().strip()}"} if token.exists() else {}
        request = urllib.request.Request(address.replace("0.0.0.0", "127.0.0.1"), headers=headers)
        for _ in range(1200):
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return answer.read().decode()
            except urllib.error.URLError as error:
                assert isinstance(error.reason, ConnectionRefusedError), error  # not yet listening
                time.sleep(0.1)
        raise AssertionError(f"{address} was not served")

    def start(self, block: Block, text: str | None = None, **streams: object) -> subprocess.Popen[str]:
        """A block as a process of its own."""
        kept = [line for line in (text or block.text).splitlines() if not is_exempt(line)]
        piped = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(
            [*COMMANDS[block.language], "\n".join(kept)],
            **{**piped, **streams},
            cwd=self.folder,
            env=self.environment(),
            text=True,
            start_new_session=True,  # so that Ctrl-C reaches it and what it has started, and nobody else
        )

    def environment(self) -> dict[str, str]:
        """This one without its settings of martfl."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("MARTFL_")}
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        own = {
            "HOME": str(self.home),
            "MARTFL_CACHE": os.environ.get("MARTFL_CACHE") or str(caches / "martfl"),  # contracts are compiled once
            "PATH": f"{self.programs}{os.pathsep}{TOOLS}{os.pathsep}{os.environ['PATH']}",
            "OMP_NUM_THREADS": "1",
            "PAGE_PORT": str(free_port()),
        }
        return {**kept, **own, **self.more}
