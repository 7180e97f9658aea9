"""docs/deploy.md from three empty folders to a settled epoch, line by line; then what other pages say about it."""

import os
import re
import shlex
import signal
import subprocess

import pytest
from reader.machines import end

from martfl.chain.open import open_trading
from martfl.chain.rpc import RpcChain
from martfl.chain.state import Phase, SaleState
from martfl.market.terms import load_terms

DEPLOY = "docs/deploy.md"


@pytest.mark.anvil
@pytest.mark.long
def test_three_machines_settle_an_epoch(machines, pages):
    """One test, since everything that follows needs the machines as the guide left them."""
    assert "epoch 1, over: settled" in machines.follow(pages[DEPLOY])
    check_books(machines)
    for page in pages.values():
        if page.name != DEPLOY:
            machines.follow(page)
    start_by_unit(machines, pages["docs/for-operators.md"])


def check_books(machines):
    """Somebody was bought, everybody has claimed, and the buyer's report tells of it."""
    terms = load_terms(machines.terminals["seller2"].folder / "invitation.toml").chain
    with RpcChain(f"http://127.0.0.1:{machines.ports['NODE_PORT']}", chain_id=31337) as chain:
        trading = open_trading(chain, terms.contract, since=terms.since)
        assert trading.read_epoch(1).phase is Phase.SETTLED
        assert any(trading.read_provider(1, seller).state is SaleState.CLAIMED for seller in machines.addresses[1:])
        assert chain.balance(trading.address) == 0
    (report,) = machines.terminals["buyer"].home.glob(".martfl/markets/*/acquirer-*/journal/report.html")
    assert "seller 1" in report.read_text()


def start_by_unit(machines, page):
    """ExecStart as it stands; the user, the folder and the place of the password are this machine's."""
    unit = next(block for block in page.blocks() if block.language == "ini")
    terminal = machines.terminals["seller2"]
    (line,) = re.findall("^ExecStart=(.+)$", machines.fill(unit.text, "seller2"), re.MULTILINE)
    line = line.replace("/srv/martfl/.venv/bin", str(terminal.programs)).replace("/run/credentials/", "")
    place = {"cwd": terminal.folder, "env": terminal.environment(), "start_new_session": True}
    process = subprocess.Popen(shlex.split(line), stderr=subprocess.PIPE, text=True, **place)
    try:
        assert "terms" in process.stderr.readline()  # wallet, terms and contract were found to agree
        (named,) = re.findall("^KillSignal=(.+)$", unit.text, re.MULTILINE)
        os.kill(process.pid, signal.Signals[named])
        process.communicate(timeout=300)
        assert process.returncode == 130
    finally:
        end(process, signal.SIGKILL)
