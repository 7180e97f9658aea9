"""A chain that goes away for a while: parties wait or stop with a clear error, and the epoch ends as it would have."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from martfl.chain.embedded import EmbeddedChain, local_account
from martfl.chain.network import ChainError
from martfl.chain.rpc import RpcChain
from martfl.chain.state import Phase
from martfl.chain.trading import Trading
from martfl.federation.local import EmbeddedClock
from martfl.market import messages as ms
from martfl.market.errors import MarketError
from martfl.market.link import ChainClock
from martfl.market.sealing import SealingKey

BINARY = Path(__file__).parents[2] / "node_modules" / ".bin" / "anvil"


class Flaky(EmbeddedChain):
    """A node that does not answer when a transaction is sent for the first time."""

    def __init__(self, path, accounts):
        super().__init__(path, accounts=accounts)
        self.refused = {"deploy"}

    def _send(self, step, *, account, key):
        if key is not None and (name := key if key == "deploy" else f"{account.address} {key}") not in self.refused:
            self.refused.add(name)
            raise ChainError("node did not answer")
        return super()._send(step, account=account, key=key)


class PatientClock:
    """Waiting as in the real world: meanwhile providers look after their epochs."""

    def __init__(self, chain):
        self.chain, self.providers = chain, []

    def wait_until(self, timestamp):
        for provider in self.providers:
            with suppress(ChainError):
                provider.watch()
        EmbeddedClock(self.chain).wait_until(timestamp)


def test_every_transaction_fails_at_first(build, kit, tmp_path):
    """The acquirer is started again after each failure, providers try again by themselves; all ends as it should."""
    chain = Flaky(tmp_path / "chain.sqlite", accounts=3)
    market = build(providers=2, terms=kit.PLAIN, chain=chain, clock=PatientClock(chain))
    market.setting.clock.providers = market.providers
    failures = 0
    while market.acquirer.finished() < 1:
        try:
            market.acquirer.run(1)
        except ChainError as error:
            assert "did not answer" in str(error)
            failures += 1
            market.restart_acquirer()
    for provider in market.providers:
        provider.watch()
    assert failures == 4 + len(market.outcome(1)["advance"])  # open, prepare, publish, claim, and purchases before
    assert market.trading.read_epoch(1).phase is Phase.SETTLED
    assert market.outcome(1)["committed"] == 2 and len(market.outcome(1)["paid"]) == 3
    assert market.money_in(1) == market.money_out(1)
    chain.close()


class Anvil:
    """A node that can be stopped and started again where it was."""

    def __init__(self, state):
        self.state, self.port, self.time = state, 0, 0  # time: that of its chain when it stopped
        self.start()

    def start(self):
        command = [str(BINARY), "--port", str(self.port), "--hardfork", "prague", "--gas-limit", "60000000"]
        command += ["--state", str(self.state), *(["--timestamp", str(self.time)] if self.time else [])]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        for line in self.process.stdout:
            if found := re.search(r"Listening on 127\.0\.0\.1:(\d+)", line):
                self.port = int(found.group(1))
                threading.Thread(target=self.process.stdout.read, daemon=True).start()  # anvil stops when nobody reads
                return

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(timeout=120)


class AnvilClock:
    """Time travel, which only a test node allows."""

    def __init__(self, chain):
        self.chain = chain

    def wait_until(self, timestamp):
        if self.chain.now() < timestamp:
            for method, params in (("evm_setNextBlockTimestamp", [timestamp]), ("anvil_mine", ["0x1"])):
                self.chain.web3.provider.make_request(method, params)


def connect(node, **options):
    """A client with three accounts that have money."""
    given = {"chain_id": 31337, "poll": 0.05, "resend": 0.5, "timeout": 120, **options}
    chain = RpcChain(f"http://127.0.0.1:{node.port}", **given)
    chain.accounts = [local_account(i) for i in range(3)]
    for account in chain.accounts:
        chain.web3.provider.make_request("anvil_setBalance", [account.address, hex(10**24)])
    return chain


@pytest.fixture
def node(tmp_path):
    if not BINARY.exists() or shutil.which("node") is None:
        pytest.skip("anvil is not installed (npm install)")
    node = Anvil(tmp_path / "state.json")
    yield node
    node.stop()


@pytest.mark.anvil
def test_nothing_is_delivered_for_a_purchase_that_may_still_vanish(build, kit, node, monkeypatch):
    """A re-organisation could take back what is not deep in the chain; an update that was seen stays seen."""
    with connect(node) as chain, connect(node, confirmations=3) as careful:
        market = build(providers=2, terms=kit.PLAIN, chain=chain, clock=AnvilClock(chain))
        market.acquirer._open(1)
        seller = market.providers[0]
        seller.train(ms.TrainRequest(epoch=1, body=market.acquirer.model_file(0)))
        AnvilClock(chain).wait_until(market.trading.read_epoch(1).deadline + 1)
        market.trading.prepare(1, providers=[seller.account.address], weights=[1 << 16], account=market.buyer)
        seller.trading = Trading(careful, market.trading.address)
        request = ms.DeliverRequest(epoch=1, key=SealingKey.generate().public.hex())
        monkeypatch.setattr("martfl.market.provider.PATIENCE", 0.0)
        with pytest.raises(MarketError, match="not deep enough"):
            seller.deliver(request)
        assert seller.journal.recall(1, "delivered") is None
        chain.web3.provider.make_request("anvil_mine", ["0x2"])
        assert seller.deliver(request).body


@pytest.mark.anvil
def test_a_deadline_is_over_when_its_end_is_deep_in_the_chain(node, monkeypatch):
    """Else a re-organisation could take back a commitment that the acquirer has scored."""
    mined = []
    with connect(node, confirmations=3) as chain:

        def mine(seconds):
            mined.append(seconds)
            chain.web3.provider.make_request("anvil_mine", ["0x1"])

        AnvilClock(chain).wait_until(end := chain.now() + 100)
        monkeypatch.setattr("martfl.market.link.time.sleep", mine)
        ChainClock(chain).wait_until(end)
    assert len(mined) == 2


@pytest.mark.anvil
def test_a_node_that_is_away_in_every_phase(build, kit, node):
    chain = connect(node)
    market = build(providers=2, terms=kit.PLAIN, chain=chain, clock=AnvilClock(chain))
    outages = []

    def outage(epoch, step, text):
        node.time = chain.now() + 1
        node.stop()
        outages.append(step)
        threading.Thread(target=lambda: (time.sleep(1.0), node.start()), daemon=True).start()

    market.acquirer.tell = outage
    try:
        market.acquirer.run(1)
        assert len(outages) >= 5
        assert market.trading.read_epoch(1).phase is Phase.SETTLED
        assert market.money_in(1) == market.money_out(1)
        assert market.outcome(1)["committed"] == 2
    finally:
        chain.close()
