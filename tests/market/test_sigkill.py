"""A real process with a whole market in it, killed by SIGKILL again and again, started again on the same folder."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parent / "whole_market.py"
EPOCHS = 2


def run(folder, *, seen, delay):
    """Let the market go from step to step; at every third new one, kill it `delay` seconds after its leave to go on.

    Gives what it printed at its end, or None where it was killed. Without `delay` it is left alone.
    """
    command = [sys.executable, str(SCRIPT), str(folder), str(EPOCHS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("{"):
                return json.loads(line)
            new = line not in seen
            seen.add(line)
            process.stdin.write("\n")
            process.stdin.flush()
            if delay is not None and new and len(seen) % 3 == 0:
                time.sleep(delay)  # it may be anywhere before its next step by now, and no further
                process.send_signal(signal.SIGKILL)
                return None
    raise AssertionError(f"the market ended with {process.returncode}")


@pytest.mark.long
def test_a_market_killed_again_and_again_ends_as_it_would_have(tmp_path):
    steps = set()
    expected = run(tmp_path / "undisturbed", seen=steps, delay=None)
    rng, seen, result, kills = np.random.default_rng(8), set(), None, 0
    while result is None:
        result = run(tmp_path / "killed", seen=seen, delay=float(rng.uniform(0.0, 0.6)))
        kills += result is None
    assert result == expected
    assert expected["left"] == 0
    # A kill can swallow the announcement of one step at most, so one falls on every fourth step at the latest.
    assert kills >= len(steps) // 4 >= 2
