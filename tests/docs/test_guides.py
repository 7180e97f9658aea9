"""What a reader types works: the blocks of the guides are run, in order, as they stand."""

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
        folder = request.getfixturevalue("quickstart")
        assert (folder / "market" / "report.html").stat().st_size and (folder / "report.html").stat().st_size
    else:
        request.getfixturevalue("terminal").follow(guide)


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
