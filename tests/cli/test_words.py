"""What people see at the terminal: coins and names, plain lines where there is no terminal, narrow windows."""

import json
import logging
import os
import re
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from martfl.cli import app
from martfl.cli.options import RoleOptions, grouped
from martfl.cli.telling import Lines, Telling
from martfl.market import steps as st
from martfl.market.journal import Journal

pytestmark = pytest.mark.xdist_group("words")  # one market for all

DEMO = ["demo", "--providers", "3", "--epochs", "2", "--attack", "forged-score", "--malicious", "0.34", "--seed", "1"]
WEI = re.compile(r"\d{10,}")  # nobody reads ten digits


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A demo whose output goes to files, at 60 columns."""
    folder = tmp_path_factory.mktemp("words") / "demo"
    environment = {**os.environ, "COLUMNS": "60", "NO_COLOR": "1", "FORCE_COLOR": ""}
    command = [sys.executable, "-m", "martfl", *DEMO, "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return folder, done


def test_progress_is_plain_lines_where_there_is_no_terminal(demo):
    _, done = demo
    steps = [line.split()[2] for line in done.stderr.splitlines()]
    assert [step for step in steps if step != "caught"] == 2 * ["open", "commit", "select", "publish", "over"]
    assert "\x1b" not in done.stdout + done.stderr


def test_the_story_is_told_in_coins_and_names(demo):
    _, done = demo
    assert "deposited 1.0000 ETH as reward and 0.5000 ETH as penalty" in done.stderr
    assert re.search(r"caught +\w+ \(0x\w{8}…\): forged score", done.stderr)
    assert not WEI.search(done.stdout) and not WEI.search(done.stderr)
    assert "WARNING" not in done.stderr


def test_tables_fit_a_narrow_terminal_and_cut_no_word(demo):
    folder, done = demo
    printed = [line for line in done.stdout.splitlines() if str(folder) not in line]  # a path is not broken
    assert max(map(len, printed)) <= 60
    head = next(line for line in printed if "accuracy" in line)
    assert head.split() == ["epoch", "accuracy", "bought", "in", "model", "caught", "prices", "bonus", "gas"]


def test_json_has_wei_and_nothing_is_said_besides(demo):
    folder, _ = demo
    command = [sys.executable, "-m", "martfl", "demo", "--resume", str(folder), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert result["deposited"] == 3 * 10**18 and done.stderr == ""


def test_a_resumed_demo_takes_its_own_options(demo):
    folder, _ = demo
    command = [sys.executable, "-m", "martfl", "demo", "--resume", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "forged-score" in done.stdout and "Report:" in done.stdout


# --- the acquirer's story ------------------------------------------------------------------------------------------


def test_a_failed_epoch_says_that_the_penalty_is_forfeited(tmp_path):
    said = []
    with Journal(tmp_path) as journal:
        journal.record(1, st.PaidOut(paid={"0x1": 3 * 10**16}, refunded=97 * 10**16, sent=(), traffic=st.Traffic()))
        journal.record(
            1,
            st.Over(
                phase="FAILED",
                refunded=97 * 10**16,
                quality=st.Measurement(measure="accuracy", values={"accuracy": 0.5}),
            ),
        )
        Telling(journal, lambda *line: said.append(line))(1, "over", "as the market says it")
    assert said == [(1, "over", "failed; 0.0300 ETH to the providers, 0.9700 ETH back; the penalty is forfeited")]


def test_what_has_no_words_of_its_own_is_passed_on(tmp_path):
    said = []
    with Journal(tmp_path) as journal:
        Telling(journal, lambda *line: said.append(line))(1, "late", "a deadline passed")
    assert said == [(1, "late", "a deadline passed")]


def test_a_cheat_is_told_once_and_without_its_numbers(tmp_path):
    said = []
    with Journal(tmp_path) as journal:
        telling = Telling(journal, lambda *line: said.append(line))
        journal.remark(1, "0xAbCdEf0123456789", "missing key", "gave no key for what was bought")
        journal.remark(1, "0xAbCdEf0123456789", "no valid answer", "score: 0.123456")
        telling(1, "commit", "a")
        telling(1, "commit", "b")
    assert said[0] == (1, "caught", "0xAbCdEf01…: missing key") and len(said) == 3


def test_a_warning_is_a_line_of_the_story(capsys):
    record = logging.LogRecord("martfl.market.shelf", logging.WARNING, "", 0, "%d values [were] clipped", (3,), None)
    lines = Lines()
    lines.setFormatter(logging.Formatter("note: %(message)s"))
    lines.emit(record)
    assert re.fullmatch(r"\d\d:\d\d:\d\d note: 3 values \[were\] clipped\n", capsys.readouterr().err)


# --- grouped options -----------------------------------------------------------------------------------------------


def test_groups_of_options_are_options():
    seen = []
    made = typer.Typer()

    @made.command()
    @grouped
    def show(role: RoleOptions, count: int = 3) -> None:
        """Say what was given."""
        seen.append((role.keystore, role.password_env, count))

    done = CliRunner().invoke(made, ["--keystore", "alice", "--password-env", "SECRET", "--count", "5"])
    assert done.exit_code == 0, done.output
    assert seen == [("alice", "SECRET", 5)]
    assert CliRunner().invoke(made, ["--count", "5"]).exit_code == 2  # the keystore is required


def test_no_help_text_loses_words():
    """Square brackets are markup to rich: a default in them is not shown."""

    def texts(group):
        for command in getattr(group, "commands", {}).values():
            yield from texts(command)
            yield from (parameter.help or "" for parameter in command.params if hasattr(parameter, "help"))

    assert not [text for text in texts(typer.main.get_command(app)) if "[" in text]


def test_a_narrow_terminal_cuts_no_word():
    """A real terminal of 60 columns: lines of progress break between words; in a file each stays one line."""
    import pty

    code = "from martfl.cli.telling import say; say('the new model is on chain and handed out; ' * 4)"
    environment = {**os.environ, "COLUMNS": "60", "NO_COLOR": "1", "TERM": "xterm"}
    environment.pop("FORCE_COLOR", None)  # even an empty one decides what a terminal is
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stderr=theirs, env=environment, check=True)
    os.close(theirs)
    shown = re.sub(r"\x1b\[[02]m", "", os.read(ours, 10_000).decode()).split("\r\n")  # dim is no colour
    os.close(ours)
    words = {"the", "new", "model", "is", "on", "chain", "and", "handed", "out;"}
    assert len(shown) > 3 and all(len(line) <= 60 for line in shown)
    assert {word for line in shown for word in line.split() if ":" not in word} == words
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, env=environment, check=True)
    assert done.stderr.count("\n") == 1
