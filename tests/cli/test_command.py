"""The command as a script would use it: help, exit codes, JSON, light imports."""

import json
import subprocess
import sys

import pytest


def martfl(*arguments):
    return subprocess.run([sys.executable, "-m", "martfl", *arguments], capture_output=True, text=True, check=False)


def test_help_names_the_commands():
    shown = martfl("--help")
    assert shown.returncode == 0
    assert "bench" in shown.stdout


def test_unknown_command_is_bad_usage():
    assert martfl("nonsense").returncode == 2


def test_bench_selection_prints_json():
    result = json.loads(martfl("bench", "selection", "--providers", "10", "--json").stdout)
    assert result["seconds"]["10"] > 0


def test_help_imports_nothing_heavy():
    code = "import sys, martfl.cli; print(' '.join(sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"torch", "web3", "vyper", "flwr", "tenseal", "sklearn", "matplotlib"}


@pytest.mark.parametrize("room", ["martfl.selection", "martfl.lab"])
def test_research_rooms_import_without_the_market(room):
    """They must run on machines that hold numpy, scipy, scikit-learn, pillow and torch alone."""
    absent = ["tenseal", "flwr", "web3", "vyper", "kmeans1d", "typer", "rich", "matplotlib", "py_arkworks_bls12381"]
    code = f"import sys; sys.modules.update(dict.fromkeys({absent!r})); import {room}"
    subprocess.run([sys.executable, "-c", code], check=True)
