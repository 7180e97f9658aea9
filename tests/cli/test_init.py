"""`martfl init` writes terms that a market can be deployed with, from options or from answers."""

import json
import os
import pty
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from martfl.cli import app
from martfl.market.terms import Terms, load_terms, read_terms
from martfl.market.terms_file import commented

OPTIONS = ["--name", "wards", "--reward", "2.5", "--penalty", "20", "--ask", "0.02"]
OPTIONS += ["--training", "90", "--window", "30", "--chain", "ours"]


def test_options_become_terms(tmp_path):
    out = tmp_path / "market.toml"
    done = CliRunner().invoke(app, ["init", *OPTIONS, "--out", str(out), "--json"], catch_exceptions=False)
    terms, said = load_terms(out), json.loads(done.stdout)
    assert said["terms_hash"] == "0x" + terms.hash.hex() and said["deposit"] == 3 * 10**18
    assert (terms.name, terms.chain.profile) == ("wards", "ours")
    assert (terms.money.reward, terms.money.penalty_ratio, terms.money.ask) == (25 * 10**17, 2000, 2 * 10**16)
    times = terms.deadlines
    assert (times.commit, times.buy, times.keys, times.publish, times.margin) == (5400, 1800, 1800, 1800, 450)


def test_every_choice_has_a_remark_and_amounts_are_said_in_coins(tmp_path):
    out = tmp_path / "market.toml"
    CliRunner().invoke(app, ["init", *OPTIONS, "--out", str(out)], catch_exceptions=False)
    lines = [
        line for line in out.read_text().splitlines() if " = " in line and not line.startswith(("name", "settle "))
    ]
    assert lines and all(" # " in line for line in lines)
    assert "# 2.5000 ETH: what the sellers of an epoch get together" in out.read_text()


def ask(folder, typed):
    """`martfl init` at a terminal where somebody types."""
    keyboard, stdin = pty.openpty()
    command = [sys.executable, "-m", "martfl", "init"]
    streams = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=folder, text=True, **streams)
    os.write(keyboard, typed)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return load_terms(folder / "market.toml"), out, err


def test_it_asks_at_a_terminal_and_says_what_is_next(tmp_path):
    typed = b"wards\n\n3\n" + 5 * b"\n"  # a name, the usual task, a reward of 3, and the usual rest
    terms, out, err = ask(tmp_path, typed)
    assert err.count("]:") == 8
    assert (terms.name, terms.money.reward) == ("wards", 3 * 10**18)
    assert "martfl acquirer deploy market.toml --keystore buyer" in out
    assert "deposit of 4.5000 ETH" in out


def test_a_bad_answer_is_asked_for_again_and_the_others_are_kept(tmp_path):
    first = b"wards\n\nmuch\n3\n\n7\n\n\n\n"  # no amount; then a price above the reward
    terms, _, err = ask(tmp_path, first + b"\n\n\n\n0.5\n\n\n\n")
    assert "such as 0.02, got 'much'" in err and "money.ask must be 0 to" in err
    assert err.count("]:") == 9 + 8
    assert (terms.name, terms.money.reward, terms.money.ask) == ("wards", 3 * 10**18, 5 * 10**17)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--reward", "much"], "an amount in coins must be a number such as 0.02, got 'much'"),
        (["--training", "-5"], "training must be a positive number, got '-5'"),
        (["--penalty", "nan"], "penalty must be a positive number, got 'nan'"),
        (["--ask", "7"], "money.ask must be 0 to 1000000000000000000 (the reward)"),
        (["--task", "digits"], "task.entry must be 'module:function', got 'digits'"),
    ],
)
def test_a_bad_answer_names_the_rule_and_writes_nothing(tmp_path, options, said):
    out = tmp_path / "market.toml"
    done = CliRunner().invoke(app, ["init", *options, "--out", str(out)])
    assert said in str(done.exception) and not out.exists()


def test_terms_are_never_overwritten(tmp_path):
    out = tmp_path / "market.toml"
    out.write_text("mine")
    assert "exists already" in str(CliRunner().invoke(app, ["init", "--out", str(out)]).exception)
    assert out.read_text() == "mine"


VALUES = st.fixed_dictionaries(
    {
        "name": st.text(min_size=1, max_size=40).filter(str.strip),
        "task": st.just({"entry": "a:b", "options": {"k": 1}}),
    },
    optional={
        "money": st.fixed_dictionaries({"reward": st.integers(10**16, 10**20)}),
        "deadlines": st.fixed_dictionaries({"commit": st.integers(2000, 10**6), "settle": st.integers(1, 10**6)}),
        "selection": st.just({"options": {"budget": 0.5}}),
        "scoring": st.fixed_dictionaries({"answers": st.integers(8, 100)}),
        "reputation": st.fixed_dictionaries({"newcomers": st.floats(0.01, 1.0)}),
    },
)


@given(VALUES)
@settings(deadline=None)
def test_the_file_is_the_terms(tmp_path_factory, values):
    terms = read_terms(values)
    assert isinstance(terms, Terms)
    file = tmp_path_factory.mktemp("terms") / "market.toml"
    file.write_text(commented(terms), encoding="utf-8")
    assert load_terms(file) == terms
