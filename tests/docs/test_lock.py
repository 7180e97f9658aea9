"""What the demo installs is named by hash: complete, at the pinned versions, and from no place in particular."""

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements" / "demo.txt").read_text()
LEFT_OUT = {"torch"}  # SECURITY.md says why


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def locked():
    """Version and number of hashes by name."""
    entries = re.split(r"\n(?=[a-z0-9])", LOCK.split("\n", 1)[1])
    found = [re.match(r"([\w.-]+)==(\S+)( ;[^\n]+)? \\\n", entry) for entry in entries]
    assert all(found)
    return {
        m[1]: (m[2], len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", entry)))
        for m, entry in zip(found, entries, strict=True)
    }


def wanted(extra):
    """What an extra asks for by name, those of the extras within it included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names, waiting = set(), [*project["dependencies"], *project["optional-dependencies"][extra]]
    while waiting:
        asked = waiting.pop()
        if inner := re.fullmatch(r"martfl\[(.+)\]", asked):
            waiting += [one for name in inner[1].split(",") for one in project["optional-dependencies"][name]]
        else:
            names.add(plain(re.match(r"[\w.-]+", asked)[0]))
    return names


def test_everything_that_the_demo_asks_for_has_hashes():
    assert wanted("demo") - locked().keys() == LEFT_OUT
    assert len(locked()) > 100 and all(count for _, count in locked().values())


def test_versions_are_the_pinned_ones():
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines())
    pins = {plain(name): version for name, version in pins.items()}
    different = {name: version for name, (version, _) in locked().items() if pins.get(name, version) != version}
    assert not different, f"{different}: run `make lock`"


def test_it_names_no_place_to_get_them_from():
    assert not re.search(r"://|--index|--find-links|--extra|@ |file:", LOCK)


def made(*words):
    """What make would run to fill a new environment."""
    command = ["make", "--dry-run", "--always-make", "venv", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_make_takes_no_other_files_unless_it_says_so():
    by_hash = "--require-hashes --no-deps --requirement requirements/demo.txt"
    assert f"{by_hash} || echo" in made()
    assert f"{by_hash} \n" in made("STRICT=1")  # a refusal ends it
    assert "--require-hashes" not in made("LOCK=")
