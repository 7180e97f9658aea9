"""A real process with a whole market in it, killed by SIGKILL again and again, started again on the same folder."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

SCRIPT = Path(__file__).parent / "whole_market.py"
EPOCHS = 2


def start(folder):
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder), str(EPOCHS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def killed_within(folder, seconds):
    """Start, wait until it trades, and kill it so many seconds later; whether it was still running."""
    process = start(folder)
    process.stdout.readline()
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    output = process.communicate()[0]
    return output.strip().splitlines()[-1] if process.returncode == 0 else None


def test_a_market_killed_at_random_moments_ends_as_it_would_have(tmp_path):
    expected = json.loads(killed_within(tmp_path / "undisturbed", 300))
    rng, result, kills = np.random.default_rng(8), None, 0
    while result is None:
        result = killed_within(tmp_path / "killed", float(rng.uniform(0.05, 1.5)) * (1 + kills / 10))
        kills += result is None
    assert kills >= 3
    assert json.loads(result) == expected
    assert expected["left"] == 0
