"""The two command lines: typer with everything installed, argparse with torch and numpy alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from martfl.cli import app
from martfl.lab.__main__ import main

KEYS = {"mta", "asr", "dac", "f1", "inclusiveness", "robustness", "rounds", "seconds_per_round", "seed"}
SMALL = ["--set", "participants=6", "--set", "root_rows=60", "--rounds", "2"]


def test_a_single_run_prints_its_metrics(tmp_path: Path) -> None:
    command = ["lab", "run", "--rule", "martfl", "--dataset", "digits", "--attack", "sign-randomizing"]
    result = CliRunner().invoke(app, [*command, "--malicious", "0.4", *SMALL, "--json", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record.keys() >= KEYS and record["rounds"] == 2 and record["config"]["malicious"] == 0.4


def test_a_table_for_people(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["lab", "run", "--rule", "fedavg", *SMALL, "--out", str(tmp_path)])
    assert result.exit_code == 0 and "mta %" in result.stdout


def test_a_file_with_options(tmp_path: Path) -> None:
    path = tmp_path / "few.toml"
    path.write_text("[run]\nparticipants = 6\nroot_rows = 60\n[grid]\nrule = ['fedavg', 'median']\nseed = [0, 1]\n")
    options = ["--rounds", "1", "--seeds", "3", "--only", "rule=median", "--json", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, ["lab", "run", str(path), *options])
    assert result.exit_code == 0, result.output
    (record,) = json.loads(result.stdout)
    assert (record["name"], record["seed"], record["rounds"]) == ("median", 3, 1)


def test_a_failed_run_shows_in_the_exit_code(tmp_path: Path) -> None:
    command = ["lab", "run", "--rule", "fedavg", *SMALL, "--trainer", "nonsense", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1 and "failed" in result.output


PLAIN = """
import sys
for name in ("typer", "rich", "matplotlib", "pyarrow", "tenseal", "web3", "vyper", "py_arkworks_bls12381", "zksnake",
             "gmpy2", "cryptography", "eth_tester", "flwr", "kmeans1d"):
    sys.modules[name] = None  # importing it raises ImportError
sys.argv = ["lab", *sys.argv[1:]]
from martfl.lab.__main__ import main
main()
"""


def plain(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", PLAIN, *arguments], capture_output=True, text=True, timeout=600)


def test_the_plain_command_needs_torch_and_numpy_alone(tmp_path: Path) -> None:
    result = plain("run", "--rule", "martfl", *SMALL, "--json", "--out", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout).keys() >= KEYS
    assert "[1/1] digits · martfl · seed 0: done mta" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rule", "nonsense"], "unknown rule 'nonsense': choose one of alignins"),
        (["--dataset", "fmnist", "--data", "nowhere"], "no file nowhere/fashion-mnist"),
        (["--seeds", "a"], "--seeds takes whole numbers"),
        (["--only", "seed=1"], "--only chooses among the runs of a file"),
    ],
)
def test_known_errors_are_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["lab", "run", "--rule", "fedavg", *arguments, "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"^[12]$"):
        main()
    assert message in capsys.readouterr().err


def test_the_benchmark_times_both_and_checks_the_bits() -> None:
    command = ["bench", "lab", "--datasets", "digits", "--rounds", "1", "--repeats", "1", "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    (timing,) = json.loads(result.stdout)
    assert timing["clients"] == 10 and timing["parameters"] == 2410 and timing["repeats_exactly"]
    assert timing["speedup"] == timing["plain_s"] / timing["train_s"] and timing["peak_mb"] > 0


def test_a_round_of_training_is_taken_apart(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["lab", "bench", "--steps", "--datasets", "digits"])
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    head, *lines = capfd.readouterr().out.splitlines()
    shown = [float(line.split(" ms")[0]) for line in lines if " × " in line]
    assert head.startswith("digits, fp32: ") and len(shown) > 3
    assert shown == sorted(shown, reverse=True) and sum(shown) <= float(head.split()[2]) + 0.1
    assert any("bmm" in line for line in lines)
