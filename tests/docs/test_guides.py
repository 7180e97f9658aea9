"""What a reader types works: the blocks of the guides are run, in order, as they stand."""

import json
import re

MACHINES = {  # what a text block may hold that is a command: others' machines, or what goes on until it is stopped
    "make demo",
    "export PATH",
    "martfl acquirer",
    "martfl provider",
    "martfl dashboard",
    "martfl wallet balance",
    "martfl bench",
    "martfl report ~",
    "martfl lab run experiments/",
    "martfl lab table experiments/",
}


def test_a_guide_can_be_followed(guide, request):
    if guide.name == "docs/quickstart.md":
        _check_story(request.getfixturevalue("quickstart"))
    else:
        request.getfixturevalue("terminal").follow(guide)


def _check_story(folder):
    """Who was paid, who was dropped, and where the money went are what the quickstart tells."""
    result = json.loads((folder / "market" / "result.json").read_text())
    (epoch,) = result["epochs"]
    assert epoch["dropped"] == ["Alder"] and epoch["verified"]
    assert epoch["paid"] == dict.fromkeys(["Birch", "Dogwood"], 51 * 10**16)
    assert (result["deposited"], result["refunded"]) == (152 * 10**16, 50 * 10**16)
    assert all("Birch" in (folder / name).read_text() for name in ("market/report.html", "report.html"))


def test_what_can_be_run_is_run(pages):
    """A martfl command in a block that is not run needs a reason."""
    guides = [page for page in pages.values() if "<!-- tests/docs runs" in page.text]
    assert len(guides) >= 6
    for page in guides:
        for block in page.blocks():
            if block.language == "text":
                typed = [line for line in block.text.splitlines() if re.match(r"(martfl|make|export) ", line)]
                assert all(line.startswith(tuple(MACHINES)) for line in typed), (page.name, block.line, typed)


def test_the_python_example_is_short(pages):
    example = next(block for block in pages["docs/quickstart.md"].blocks() if block.language == "python")
    lines = [line for line in example.text.splitlines() if line.strip()]
    assert len(lines) <= 21 and max(map(len, lines)) <= 120
