"""What a reader types works: blocks of all pages are run, in order, as they stand."""

import json
import os
import re
import shlex
import subprocess
import sys

from reader.pages import PAGES, ROOT, Page
from reader.smaller import EXEMPT, is_exempt
from typer.main import get_command

from martfl.cli import app
from martfl.lab.adapters.table import adapter_table


def test_a_guide_can_be_followed(guide, request):
    if guide.name == "docs/quickstart.md":
        folder = request.getfixturevalue("quickstart")
        assert all("Birch" in (folder / name).read_text() for name in ("market/report.html", "report.html"))
    else:
        request.getfixturevalue("terminal").follow(guide)


def test_the_quickstart_shows_what_the_demo_prints(quickstart, pages):
    """Told again from the folder it left; gas moves a little with every draw of keys."""
    shown = next(block for block in pages["docs/quickstart.md"].blocks() if block.language == "text")
    command = [sys.executable, "-m", "martfl", "demo", "--resume", str(quickstart / "market")]
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    assert _without_gas(shown.text).strip() in _without_gas(told)


def _without_gas(text):
    lines = (re.sub(r"\d\.\d\dM │$", "gas │", line.rstrip()) for line in text.splitlines())
    return "\n".join(lines)


# --- nothing is shown that is not run --------------------------------------------------------------------------------

RUN = {line for page in PAGES for block in page.run() for line in block.lines()}


def not_run(page):
    """Command lines of a page that no test types."""
    return {line.removeprefix("ExecStart=") for line in page.shown() - RUN if not is_exempt(line)} - UNITS


UNITS = {line for page in PAGES for block in page.blocks() if block.language == "ini" for line in block.lines()}
UNITS = {line.removeprefix("ExecStart=") for line in UNITS}  # test_deploy.py starts them


def test_every_command_that_a_page_shows_is_run(pages):
    left = {page.name: lines for page in pages.values() if (lines := not_run(page))}
    assert not left, "put it into a sh block, which tests/docs runs, or into EXEMPT with a reason"


def test_every_exemption_is_needed(pages):
    shown = {line for page in pages.values() for line in page.shown() | page.named()}
    assert all(any(line.startswith(start) for line in shown) for start in EXEMPT)


def words_and_options(line):
    """A command's own words, and the options that it is given."""
    parts = shlex.split(line.replace("…", " ").removeprefix("PYTHONPATH=src "), comments=True)
    start = 3 if parts[0] == "python" else 1
    groups = get_command(app).commands
    nested = parts[0] == "martfl" and parts[1] in groups and hasattr(groups[parts[1]], "commands")
    words = tuple(parts[: start + 1 + nested])
    return words, {part.split("=")[0] for part in parts if part.startswith("--")} - {"--help"}


def test_every_command_that_a_sentence_names_is_run_somewhere(pages):
    typed = [
        words_and_options(line) for line in RUN if line.startswith(("martfl ", "make ", "python -m", "PYTHONPATH"))
    ]

    def is_run(line):
        words, options = words_and_options(line)
        return any(words == other[: len(words)] and options <= given for other, given in typed)

    named = {(page.name, line) for page in pages.values() for line in page.named() if not is_exempt(line)}
    assert len(named) > 40
    assert not sorted((page, line) for page, line in named if not is_run(line))


def test_a_command_that_is_not_run_is_noticed(tmp_path):
    text = (
        "Try\n\n    martfl demo --seed 77\n\n```text\nmartfl audit --chain x\n```\n\n```sh\nmartfl wallet list\n```\n"
    )
    page = Page(tmp_path / "page.md", text)
    assert page.shown() == {"martfl demo --seed 77", "martfl audit --chain x", "martfl wallet list"}
    assert not_run(page) == {"martfl demo --seed 77", "martfl audit --chain x"} | ({"martfl wallet list"} - RUN)


def test_the_python_example_is_short(pages):
    example = next(block for block in pages["docs/quickstart.md"].blocks() if block.language == "python")
    lines = [line for line in example.text.splitlines() if line.strip()]
    assert len(lines) <= 21 and max(map(len, lines)) <= 120


def test_the_table_of_adapters_under_attack_is_that_of_the_results(pages):
    rows = [json.loads(line) for line in (ROOT / "results/benches/lora.jsonl").read_text().splitlines()]
    assert adapter_table(rows).strip() in pages["docs/for-model-owners.md"].text
