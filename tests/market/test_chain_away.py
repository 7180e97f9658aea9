"""A chain that goes away for a while: parties wait or stop with a clear error, and the epoch ends as it would have."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from fuse import Fuse, FusedChain

from martfl.chain.embedded import local_account
from martfl.chain.network import ChainError
from martfl.chain.open import open_trading
from martfl.chain.rpc import RpcChain
from martfl.chain.state import Phase
from martfl.market import guard
from martfl.market import messages as ms
from martfl.market.link import ChainClock
from martfl.market.steps import KeyGiven

BINARY = Path(__file__).parents[2] / "node_modules" / ".bin" / "anvil"


class Flaky(FusedChain):
    """A node that does not answer when a transaction is sent for the first time."""

    def __init__(self, path, accounts):
        super().__init__(path, accounts, Fuse(parties=("nobody",)))
        self.refused = {"deploy", "deploy/judge"}

    def _send(self, step, *, account, key):
        if key is not None and key not in self.refused and (name := f"{account.address} {key}") not in self.refused:
            self.refused.add(name)
            raise ChainError("node did not answer")
        return super()._send(step, account=account, key=key)


def test_every_transaction_fails_at_first(build, tmp_path):
    """The acquirer is started again after each failure, providers try again by themselves; all ends as it should."""
    chain = Flaky(tmp_path / "chain.sqlite", accounts=4)
    market = build(providers=3, chain=chain)
    failures = []
    while market.acquirer.finished() < 1:
        try:
            market.acquirer.run(1)
        except ChainError as error:
            assert "did not answer" in str(error)
            failures.append(error)
            market.restart_acquirer()
    market.check_honest(range(3))
    assert len(failures) == 6  # open, relay, buy, publish, pay, claim
    chain.close()


def test_a_chain_that_is_away_when_the_margin_begins(build, kit, tmp_path):
    """A seller whose key is out tries again until the window ends; one whose key is not keeps it."""
    chain = Flaky(tmp_path / "chain.sqlite", accounts=3)
    market = build(providers=2, chain=chain)
    hand = kit.Hand(market).begin()
    hand.buy(0, 1)
    assert isinstance(hand.ask_key(0), bytes)
    margin = market.terms.deadlines.margin
    chain.travel_to(market.times().keys - margin)
    with pytest.raises(ChainError, match="node did not answer"):
        market.providers[0].watch()  # the first attempt is lost
    chain.travel_to(market.times().keys - 5)
    market.watch()
    market.travel_to(market.times().publish + 1)  # the first claim is lost as well
    market.watch()
    assert market.paid(1) == {market.names[0]: market.price(0)}
    assert market.providers[1].journal.recall(1, KeyGiven) is None
    chain.close()


# --- a real node -----------------------------------------------------------------------------------------------------


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
    """Time travel, which only a test node allows, with halts wherever a seller must look."""

    def __init__(self, chain):
        self.chain, self.watchers = chain, ()

    def wait_until(self, timestamp):
        self._look()
        while (now := self.chain.now()) < timestamp:
            moments = [due for watcher in self.watchers if (due := watcher.due()) is not None and due > now]
            self._travel(min([timestamp, *moments]))
            self._look()

    def wait_for_block(self, number):
        while self.chain.web3.eth.block_number < number:
            self.chain.web3.provider.make_request("anvil_mine", ["0x1"])

    def _travel(self, timestamp):
        for method, params in (("evm_setNextBlockTimestamp", [timestamp]), ("anvil_mine", ["0x1"])):
            self.chain.web3.provider.make_request(method, params)

    def _look(self):
        for watcher in self.watchers:
            watcher.watch()


def connect(node, **options):
    """A client with three accounts that have money."""
    given = {"chain_id": 31337, "poll": 0.05, "resend": 0.5, "timeout": 120, **options}
    chain = RpcChain(f"http://127.0.0.1:{node.port}", **given)
    chain.accounts = [local_account(i) for i in range(3)]
    for account in chain.accounts:
        chain.web3.provider.make_request("anvil_setBalance", [account.address, hex(10**24)])
    return chain


def market_on(build, chain):
    clock = AnvilClock(chain)
    market = build(providers=2, chain=chain, clock=clock)
    clock.watchers = market.watchers
    return market


@pytest.fixture
def node(tmp_path):
    if not BINARY.exists() or shutil.which("node") is None:
        pytest.skip("anvil is not installed (npm install)")
    node = Anvil(tmp_path / "state.json")
    yield node
    node.stop()


@pytest.mark.anvil
def test_no_key_is_given_for_a_purchase_that_may_still_vanish(build, kit, node, monkeypatch):
    """A re-organisation could take back what is not deep in the chain; a key that was seen stays seen."""
    with connect(node) as chain, connect(node, confirmations=3) as careful:
        market = market_on(build, chain)
        hand, clock = kit.Hand(market), market.clock
        hand.open()
        hand.relay(hand.train())
        clock.wait_until(market.times().commit + 1)
        chain.web3.provider.make_request("anvil_mine", ["0x2"])
        hand.buy(0)
        seller = market.providers[0]
        deep = open_trading(careful, market.trading.address)
        seller.guard = guard.Guard(market.terms, deep, seller.account, seller.shelf, seller.windows, False)
        monkeypatch.setattr(guard, "PATIENCE", 0.0)
        refusal = hand.ask_key(0)
        assert isinstance(refusal, ms.Refusal) and "not deep enough" in refusal.reason
        assert seller.journal.recall(1, KeyGiven) is None
        chain.web3.provider.make_request("anvil_mine", ["0x2"])
        assert isinstance(hand.ask_key(0), bytes)


@pytest.mark.anvil
def test_the_next_second_is_ours_where_the_node_has_none(node):
    """Between blocks a node shows an old time; what is sent now runs at the time of now."""
    with connect(node) as chain:
        chain.web3.provider.make_request("anvil_mine", ["0x1"])
        block = chain.now()
        while int(time.time()) <= block + 1:
            time.sleep(0.1)
        assert chain.now() == block and chain.next_second() >= block + 2
        AnvilClock(chain).wait_until(end := int(time.time()) + 10_000)
        assert chain.next_second() == end + 1  # a chain that is ahead of us has its own time


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
def test_a_re_organisation_around_commitment_purchase_and_reveal(build, kit, node):
    """The node forgets them, as if other blocks had won; the parties bring them in again, under their keys."""
    with connect(node) as chain:
        market = market_on(build, chain)
        hand = kit.Hand(market)
        request = chain.web3.provider.make_request
        hand.open()
        signed = hand.train()
        before = request("evm_snapshot", [])["result"]
        hand.relay(signed)
        request("evm_revert", [before])  # the relayed commitments are gone
        market.clock.wait_until(market.times().commit + 1)  # sellers send their own in time
        assert set(market.outcome(1)["committed"]) == set(market.names)
        hand.buy(0, 1)
        assert isinstance(hand.ask_key(0), bytes)
        market.clock.wait_until(market.times().publish + 1)
        market.watch()
        assert market.trading.read_epoch(1).phase is Phase.FAILED
        assert set(market.paid(1)) == set(market.names)


@pytest.mark.anvil
@pytest.mark.long
def test_a_node_that_is_away_in_every_phase(build, node):
    chain = connect(node)
    market = market_on(build, chain)
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
        assert len(market.outcome(1)["committed"]) == 2
    finally:
        chain.close()
