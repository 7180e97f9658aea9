"""The command as a script would use it: help, exit codes, JSON, light imports."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

from martfl.cli import app
from martfl.cli.helping import restore_help
from martfl.cli.output import emit

ROOT = Path(__file__).parents[2]
# One serves a page until it is stopped, the other trains and answers until it is stopped: neither has a result.
WITHOUT_RESULT = {"martfl dashboard", "martfl provider join"}


def martfl(*arguments):
    return subprocess.run([sys.executable, "-m", "martfl", *arguments], capture_output=True, text=True, check=False)


def commands(group, name):
    for word, command in sorted(getattr(group, "commands", {}).items()):
        yield from commands(command, f"{name} {word}")
    if not hasattr(group, "commands"):
        yield name, command_options(group)


def command_options(command):
    return {option for parameter in command.params for option in parameter.opts}


def test_help_names_the_commands():
    shown = martfl("--help")
    assert shown.returncode == 0
    for word in ("demo", "audit", "report", "dashboard", "acquirer", "provider", "lab", "wallet", "bench"):
        assert f" {word} " in shown.stdout


def test_every_argument_says_what_it_is():
    """With typer 0.20 and click 8.5 together their help was lost on the way."""
    found = list(arguments(restore_help(typer.main.get_command(app)), "martfl"))
    assert len(found) > 20 and [name for name, said in found if not said] == []
    assert "host:port" in martfl("acquirer", "invite", "--help").stdout


def arguments(command, name):
    for word, child in getattr(command, "commands", {}).items():
        yield from arguments(child, f"{name} {word}")
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            yield f"{name} {parameter.name}", parameter.help


def test_every_command_with_a_result_prints_it_as_json_on_request():
    found = dict(commands(typer.main.get_command(app), "martfl"))
    assert len(found) >= 18
    assert {name for name, options in found.items() if "--json" not in options} == WITHOUT_RESULT


@pytest.mark.parametrize(
    "words",
    [
        ["bench", "selection", "--providers", "10"],
        ["wallet", "list"],
        ["lab", "table", ROOT / "experiments/selection-biased.toml", "--out", ROOT / "results", "--keep-old"],
        [
            "lab",
            "figure",
            ROOT / "experiments/untargeted.toml",
            "--out",
            ROOT / "results",
            "--keep-old",
            "--to",
            "figure.png",
        ],
        ["report", ROOT / "results/selection-framing", "--out", "report.html"],
    ],
    ids=lambda words: " ".join(map(str, words[:2])),
)
def test_stdout_is_one_document(run, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MARTFL_WALLETS", str(tmp_path))
    code, out, _ = run(*words, "--json")
    assert code == 0
    json.loads(out, parse_constant=pytest.fail)  # called for NaN and infinity


def test_what_json_cannot_say_is_null(capsys):
    numbers = {"row": np.array([1.0, np.nan]), "one": np.int64(3), "deep": {"c": -math.inf}, "wei": 10**30}
    emit(numbers, as_json=True, render=list)
    assert json.loads(capsys.readouterr().out) == {"row": [1.0, None], "one": 3, "deep": {"c": None}, "wei": 10**30}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["demo", "--nonsense"], "No such option"),
        (["demo", "--providers", "x"], "'x' is not a valid integer"),
        (["demo", "--providers", "0"], "error: 1 to 100 providers"),
        (["demo", "--out", "/dev/null/folder"], "error: [Errno 20] Not a directory: '/dev/null/folder'"),
        (["demo", "--resume", "nowhere"], "error: nowhere holds no demo to resume"),
        (["bench", "selection", "--providers", "-3"], "error: providers must be numbers of at least 1, got -3"),
        (["bench", "scoring", "--parameters", "1"], "error: parameters must be at least 2"),
        (["bench", "lab", "--device", "tpu"], "error: device must be cpu or cuda, got 'tpu'"),
        (["lab", "run", "nothing.toml"], "error: no experiment file nothing.toml"),
        (["lab", "table", "nothing.toml"], "error: no experiment file nothing.toml"),
        (["report", "nowhere"], "error: no acquirer's journal in nowhere"),
        (["dashboard", "--journal", "nowhere"], "error: --journal names a folder, got nowhere"),
        (["wallet", "balance", "nobody"], "error: no wallet 'nobody'"),
        (["audit", "--chain", "local", "--contract", "0x" + "11" * 20, "--model", "nothing"], "error: "),
        (["acquirer", "deploy", "nothing.toml", "--keystore", "x"], "'nothing.toml' does not exist"),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else "",
)
def test_bad_usage_and_bad_input_exit_with_two_and_say_why(run, words, said, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MARTFL_WALLETS", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    code, out, err = run(*words)
    assert code == 2
    assert said in err
    assert out == "" and "Traceback" not in err


@pytest.fixture
def fail_with(monkeypatch):
    """A command of the test's own that raises."""

    def add(error):
        def failing() -> None:
            raise error

        monkeypatch.setattr(app, "registered_commands", [*app.registered_commands])
        app.command("failing")(failing)

    return add


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (ConnectionRefusedError(111, "Connection refused"), 2, "error: [Errno 111] Connection refused"),
        (ZeroDivisionError("a fault"), 70, "ZeroDivisionError: a fault"),
    ],
    ids=["interrupted", "system", "fault"],
)
def test_exit_codes_tell_a_failed_check_from_everything_else(run, fail_with, error, code, said):
    fail_with(error)
    found, _, err = run("failing")
    assert found == code
    assert said in err


def test_help_imports_nothing_heavy():
    code = "import sys, martfl.cli; print(' '.join(sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    heavy = {
        "numpy",
        "torch",
        "web3",
        "vyper",
        "flwr",
        "tenseal",
        "sklearn",
        "scipy",
        "matplotlib",
        "fastapi",
        "uvicorn",
    }
    assert not loaded & heavy


@pytest.mark.parametrize("room", ["martfl.selection", "martfl.lab"])
def test_research_rooms_import_without_the_market(room):
    """All of their modules must load on machines that hold numpy, scipy, scikit-learn, pillow and torch alone.

    Kernels for GPUs need Triton, which CUDA builds of torch bring; without it their plain twins are used.
    """
    absent = ["tenseal", "flwr", "web3", "vyper", "kmeans1d", "typer", "rich", "matplotlib", "py_arkworks_bls12381"]
    code = f"""if True:
        import importlib, pkgutil, sys
        sys.modules.update(dict.fromkeys({absent!r}))
        room = importlib.import_module({room!r})
        names = {{name for _, name, _ in pkgutil.walk_packages(room.__path__, room.__name__ + ".")}}
        names = {{name for name in names if not name.endswith("_cuda")}}
        assert len(names) >= 5 and all(map(importlib.import_module, names))
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_shell_completes_commands():
    asked = {**os.environ, "_MARTFL_COMPLETE": "complete_bash", "COMP_WORDS": "martfl pro", "COMP_CWORD": "1"}
    done = subprocess.run(
        [Path(sys.executable).with_name("martfl")], capture_output=True, text=True, check=False, env=asked
    )
    assert done.stdout.split() == ["provider"]
