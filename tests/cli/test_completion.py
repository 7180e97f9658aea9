"""Completion as people get it: installed by the command, read by the shell's next start, used with the tab key."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
PATIENCE = 60.0  # seconds until a busy machine must have answered


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request, tmp_path):
    """A shell whose user has installed completion: its name and environment."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "ZDOTDIR"))}
    home = {**kept, "HOME": str(tmp_path), "PATH": f"{BIN}:{kept['PATH']}", "TERM": "dumb"}
    install = [request.param, "-c", "martfl --install-completion; true"]  # the command asks which shell called it
    done = subprocess.run(install, env=home, capture_output=True, text=True, check=True)
    assert f"{request.param} completion installed in {tmp_path}" in done.stdout.replace("\n", "")
    return request.param, home


def press_tab(shell, home, words, expected):
    """What an interactive shell shows after words and a tab, up to what is expected or until patience ends."""
    screen, keyboard = pty.openpty()
    started = subprocess.Popen([shell, "-i"], env=home, stdin=keyboard, stdout=keyboard, stderr=keyboard)
    os.close(keyboard)
    shown, rung, end = "", False, time.monotonic() + PATIENCE
    os.write(screen, f"{words}\t".encode())
    while expected not in shown and time.monotonic() < end:
        if select.select([screen], [], [], 0.5)[0]:
            read = os.read(screen, 4096).decode(errors="replace")
            shown += read.replace("\a", "")
            if "\a" in read and not rung:  # zsh only loads the completion at the first tab, and rings
                rung = bool(os.write(screen, b"\t"))
    started.kill()
    started.wait()
    os.close(screen)
    return shown


def completed(shell, home, words, expected):
    if shell == "fish":  # which says what it would offer, without a keyboard
        ask = [shell, "-c", f"complete -C '{words}'"]
        return subprocess.run(ask, env=home, capture_output=True, text=True, check=True).stdout
    return press_tab(shell, home, words, expected)


def test_the_tab_key_ends_a_word(shell):
    name, home = shell
    assert "provider" in completed(name, home, "martfl prov", "provider")
    assert "--settlement" in completed(name, home, "martfl demo --sett", "--settlement")
