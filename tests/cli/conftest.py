"""The command in this process, as a script would call it."""

import sys

import pytest

from martfl.cli import main


@pytest.fixture
def run(monkeypatch, capsys):
    """`run("wallet", "list")`: exit code, stdout and stderr of the command, in this process."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["martfl", *map(str, words)])
        with pytest.raises(SystemExit, match=r"^\d*$") as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return call
