"""The page beside a real node: what it shows of the chain comes from there, and it stays up when the node goes away."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

from martfl.chain.embedded import local_account
from martfl.chain.network import ChainError
from martfl.chain.rpc import RpcChain
from martfl.cli.dashboard import _chain_opener
from martfl.dashboard.watch import Watcher
from martfl.errors import InputError
from martfl.federation.flower.processes import free_port
from martfl.federation.local import LocalLink
from martfl.market.acquirer import Acquirer, deploy_market
from martfl.market.journal import Journal
from martfl.market.meter import Meter
from martfl.market.provider import Provider
from martfl.market.settling import make_settler
from martfl.market.terms import read_terms

ANVIL = Path(__file__).parents[2] / "node_modules" / ".bin" / "anvil"
pytestmark = [pytest.mark.anvil, pytest.mark.skipif(not ANVIL.exists(), reason="anvil is not installed (npm install)")]


class Mean:
    """A task with five parameters: the mean of one's rows."""

    def initial(self):
        return np.zeros(5)

    def train(self, model, data, *, seed):
        return data.mean(axis=0) - model

    def logits(self, model, data):
        return np.tile(model, (len(data), 1))

    def labels(self, data):
        return np.zeros(len(data), dtype=np.int64)


class Node:
    """Anvil at a port of its own; its state outlives it."""

    def __init__(self, folder):
        self.port, self.state = free_port(), folder / "state.json"
        self.start()
        self.chain = RpcChain(f"http://127.0.0.1:{self.port}", chain_id=31337, poll=0.05)

    def start(self):
        command = [ANVIL, "--port", self.port, "--hardfork", "prague", "--state", self.state, "--silent"]
        self.process = subprocess.Popen([str(word) for word in command], start_new_session=True)

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(60)

    def ask(self, method, *params):
        self.chain.web3.provider.make_request(method, list(params))

    def wait_until(self, timestamp):
        if self.chain.now() < timestamp:
            self.ask("evm_setNextBlockTimestamp", timestamp)
            self.ask("anvil_mine", "0x1")


@pytest.fixture
def node(tmp_path):
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    node = Node(tmp_path)
    yield node
    node.stop()
    node.chain.close()


def make_market(node, folder):
    """An acquirer with two providers, and their journals in `folder`."""
    terms = read_terms({"name": "means", "task": {"entry": "not:needed"}, "chain": {"profile": "anvil"}})
    settler, rows = make_settler(terms, parameters=5), np.random.default_rng(0).normal(0.3, 0.02, size=(3, 20, 5))
    accounts = [local_account(i) for i in range(3)]
    for account in accounts:
        node.ask("anvil_setBalance", account.address, hex(10**20))
    trading = deploy_market(node.chain, terms=terms, settler=settler, initial=np.zeros(5), account=accounts[0])
    journals = [Journal(folder / name) for name in ("acquirer", "p1", "p2")]
    meters = [Meter(folder / f"meter{i}.sqlite") for i in range(3)]
    sellers = [
        Provider(terms, Mean(), rows[i], trading, settler, journals[i], meters[i], accounts[i], name=f"p{i}")
        for i in (1, 2)
    ]
    link = LocalLink({seller.account.address: seller.handle for seller in sellers})
    parts = (terms, Mean(), rows[0], trading, settler, link, node, journals[0], accounts[0])
    return Acquirer(*parts), journals


def wait_for(page, *texts, without=""):
    """Poll until the page shows all of `texts`; what it showed then."""
    for _ in range(3000):
        # A node that is away must not keep a reader waiting: the client's patience with it is twice as long.
        shown = httpx.get(page, timeout=30).text
        if all(text in shown for text in texts) and (not without or without not in shown):
            return shown
        time.sleep(0.1)
    raise AssertionError(f"not shown: {texts}, without {without!r}")


def test_the_chain_shown_is_the_nodes(node, serve, tmp_path):
    acquirer, journals = make_market(node, tmp_path)
    config = tmp_path / "martfl.toml"
    config.write_text(
        f'[chains.anvil]\nrpc = "http://127.0.0.1:{node.port}"\nchain_id = 31337\nstore = "held.sqlite"\n'
    )
    with RpcChain(
        f"http://127.0.0.1:{node.port}", chain_id=31337, store=tmp_path / "held.sqlite"
    ):  # as an acquirer does
        opening = _chain_opener(tmp_path, "anvil", config, None)
    page = serve(tmp_path, watcher=Watcher(tmp_path, opening, chain_pause=0.1))
    assert "On chain at block" not in wait_for(page, "No epoch has been opened yet")

    acquirer.tell = lambda epoch, step, text: commit_as_a_stranger(node, acquirer) if step == "open" else None
    acquirer.run(1)
    wait_for(page, "epoch 1: settled", *sent_by_others(acquirer))
    node.ask("anvil_mine", hex(1000))
    block = f"On chain at block {node.chain.web3.eth.block_number:,}"
    wait_for(page, block)

    node.stop()
    wait_for(page, "chain unreachable", "did not answer", block)
    node.start()
    wait_for(page, block, without="chain unreachable")
    for journal in journals:
        journal.close()


def commit_as_a_stranger(node, acquirer):
    """A transaction that only the chain knows: a wallet that never joined commits to something."""
    stranger = local_account(3)
    node.ask("anvil_setBalance", stranger.address, hex(10**20))
    acquirer.trading.commit_model(1, digest=bytes(range(32)), account=stranger)


def sent_by_others(acquirer):
    """Hashes that only the chain knows: the acquirer's journal has its own."""
    eth = acquirer.trading.chain.web3.eth
    hashes = {log["transactionHash"] for log in eth.get_logs({"fromBlock": 0, "address": acquirer.trading.address})}
    found = ["0x" + bytes(h).hex() for h in hashes if eth.get_transaction(h)["from"] != acquirer.account.address]
    assert len(found) == 1
    return found


def test_another_chain_is_an_alarm_and_another_profile_an_error(node, serve, tmp_path):
    acquirer, journals = make_market(node, tmp_path)
    config = tmp_path / "martfl.toml"
    config.write_text(f'[chains.other]\nrpc = "http://127.0.0.1:{node.port}"\nchain_id = 5\n')
    acquirer.run(1)
    opening = _chain_opener(tmp_path, "other", config, None)
    with pytest.raises(ChainError, match="serves chain 31337, expected 5"):
        opening()
    wait_for(serve(tmp_path, watcher=Watcher(tmp_path, opening)), "chain unreachable", "serves chain 31337, expected 5")
    with pytest.raises(InputError, match="a chain must be one of"):
        _chain_opener(tmp_path, "none", config, None)
    for journal in journals:
        journal.close()
