"""What runs on a public host is what runs here: workflows call make targets and nothing else."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps(path):
    jobs = yaml.safe_load(path.read_text())["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def commands():
    return [step["run"] for path in WORKFLOWS for step in steps(path) if "run" in step]


def test_workflows_call_make_and_nothing_else():
    said = [command.split("#")[0].split() for command in commands()]
    assert said and all(words[0] == "make" and set(words[1:]) <= TARGETS for words in said)


def test_lint_tests_wheel_docs_and_the_long_tests_are_run():
    assert {"lint", "test", "wheel", "docs", "long"} <= {word for command in commands() for word in command.split()}


def test_every_supported_python_is_tested():
    checks = yaml.safe_load((ROOT / ".github" / "workflows" / "checks.yml").read_text())
    tested = checks["jobs"]["tests"]["strategy"]["matrix"]["python"]
    promised = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert tested == promised


def test_hooks_are_the_linters_of_make():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    recipe = (ROOT / "Makefile").read_text().split("lint: venv\n")[1].split("\n\n")[0]
    programs = set(re.findall(r"\$\(BIN\)/([\w-]+)", recipe))
    assert {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in hooks} == programs


def test_tests_install_no_system_packages():
    makefile = (ROOT / "Makefile").read_text()
    (needed,) = re.findall(r"^check: (.+)$", makefile, re.MULTILINE)
    assert "tools" not in needed.split()
    assert "apt-get" not in (ROOT / "tools" / "setup").read_text() + makefile
    assert (ROOT / ".ci" / "run").read_text().strip().endswith("make tools test")  # as the README says
    assert "make tools test" in (ROOT / "README.md").read_text()
