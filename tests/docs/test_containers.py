"""What can be said of the containers without an engine: they name commands, options and files that exist."""

import shlex
from pathlib import Path

import yaml
from typer.main import get_command

from martfl.cli import app

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "Containerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())


def test_roles_are_commands_with_their_options():
    for name in ("buyer", "seller1", "seller2"):
        group, command, *words = COMPOSE["services"][name]["command"]
        known = {option for one in get_command(app).commands[group].commands[command].params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known


def test_the_node_runs_as_the_guide_runs_it():
    guide = (ROOT / "docs" / "deploy.md").read_text()
    (line,) = [line for line in guide.splitlines() if "/anvil --host" in line]
    assert shlex.split(line)[1:] == COMPOSE["services"]["node"]["entrypoint"][1:]


def test_what_is_copied_exists_and_is_not_ignored():
    kept = {line.removeprefix("!") for line in (ROOT / ".containerignore").read_text().splitlines() if line[0] == "!"}
    copied = [word for line in CONTAINERFILE.splitlines() if line.startswith("COPY") for word in line.split()[1:-1]]
    assert copied and all((ROOT / word).exists() for word in copied) and set(copied) == kept
    assert (ROOT / ".dockerignore").read_text() == (ROOT / ".containerignore").read_text()


def test_it_is_installed_as_the_guide_says():
    guide = (ROOT / "docs" / "deploy.md").read_text()
    (line,) = [line for line in guide.splitlines() if "pip install -c constraints.txt" in line]
    assert shlex.split(line)[-1] in CONTAINERFILE  # the extras


def test_the_guide_says_what_was_not_tried():
    guide = (ROOT / "docs" / "deploy.md").read_text()
    (base,) = [line.split("/")[-1] for line in CONTAINERFILE.splitlines() if line.startswith("FROM")]
    said = guide.split("**Not** tried:")[1].split("\n\n")[0]
    assert base in said and "compose.yaml" in said
