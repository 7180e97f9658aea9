"""docs/deploy.md from three empty folders to a settled epoch, line by line; then what other pages say about it."""

import os
import re
import shlex
import signal
import subprocess

import pytest
from reader.machines import end

from martfl.chain.rpc import RpcChain
from martfl.chain.state import Phase
from martfl.chain.trading import Trading
from martfl.market.terms import load_terms

pytestmark = [pytest.mark.anvil, pytest.mark.xdist_group("deployment")]


def test_three_machines_settle_an_epoch(deployed):
    machines, printed = deployed
    assert "epoch 1, over: settled" in printed
    terms = load_terms(machines.terminals["seller2"].folder / "market.toml").chain
    with RpcChain(f"http://127.0.0.1:{machines.ports['NODE_PORT']}", chain_id=31337) as chain:
        trading = Trading(chain, terms.contract, since=terms.since)
        assert trading.read_epoch(1).phase is Phase.SETTLED
        assert any(trading.read_provider(1, address).claimed for address in machines.addresses[1:])
        assert chain.balance(trading.address) == 0
    (report,) = machines.terminals["buyer"].home.glob(".martfl/markets/*/acquirer-*/journal/report.html")
    assert "seller 1" in report.read_text()


def test_what_other_pages_say_about_the_machines_works(deployed, distributed):
    machines, _ = deployed
    machines.follow(distributed)


def test_the_unit_of_the_operators_page_starts_a_seller(deployed, pages):
    """ExecStart as it stands; the user, the folder and the place of the password are this machine's."""
    machines, _ = deployed
    unit = next(block for block in pages["docs/for-operators.md"].blocks() if block.language == "ini")
    terminal = machines.terminals["seller2"]
    (line,) = re.findall("^ExecStart=(.+)$", machines.fill(unit.text, "seller2"), re.MULTILINE)
    line = line.replace("/srv/martfl/.venv/bin", str(terminal.programs)).replace("/run/credentials/", "")
    environment = terminal.environment()
    process = subprocess.Popen(
        shlex.split(line),
        cwd=terminal.folder,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert "terms" in process.stderr.readline()  # wallet, terms and contract were found to agree
        (named,) = re.findall("^KillSignal=(.+)$", unit.text, re.MULTILINE)
        os.kill(process.pid, signal.Signals[named])
        process.communicate(timeout=300)
        assert process.returncode == 130
    finally:
        end(process, signal.SIGKILL)
