"""Chains to test on: the embedded one, and anvil behind JSON-RPC, with the same controls over time and state."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from eth_account import Account
from vyper import compile_code

from martfl.chain.embedded import EmbeddedChain, local_account
from martfl.chain.rpc import RpcChain

BINARY = Path(__file__).parents[2] / "node_modules" / ".bin" / "anvil"
CHAIN_ID = 31337
FUNDS = hex(10**24)

COUNTER = """
event Counted:
    who: indexed(address)
    count: uint256

count: public(uint256)
random: public(uint256)

@external
@payable
def add(amount: uint256):
    assert amount < 100, "trading: amount must be below 100"
    self.count += amount
    self.random = convert(block.prevrandao, uint256)
    log Counted(who=msg.sender, count=self.count)

@external
def add_before(deadline: uint256):
    assert block.timestamp <= deadline, "trading: the deadline has passed"
    self.count += 1

@external
def refuse_silently():
    raise

@external
@view
def msm(pairs: Bytes[16000]) -> Bytes[128]:
    ok: bool = False
    point: Bytes[128] = b""
    ok, point = raw_call(
        0x000000000000000000000000000000000000000C,
        pairs,
        max_outsize=128,
        is_static_call=True,
        revert_on_failure=False,
    )
    assert ok, "trading: not points of the group"
    return point
"""


class Anvil:
    """An anvil process that can be killed and started again on the same port."""

    def __init__(self, *options: str, state: Path | None = None) -> None:
        self._options = [*options, *(["--state", str(state)] if state else [])]
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        command = [str(BINARY), "--port", str(self._port), "--hardfork", "prague", "--gas-limit", "60000000"]
        self._process = subprocess.Popen(
            [*command, "--accounts", "1", *self._options], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        for line in self._process.stdout:
            if found := re.search(r"Listening on 127\.0\.0\.1:(\d+)", line):
                self._port = int(found.group(1))
                # anvil stops when nobody reads what it prints
                threading.Thread(target=self._process.stdout.read, daemon=True).start()
                return
        raise RuntimeError("anvil did not start")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, how)
        self._process.wait(timeout=120)


class AnvilChain(RpcChain):
    """A client of anvil with the embedded chain's controls, so that one test serves both."""

    def __init__(self, url: str, **options) -> None:
        super().__init__(url, **({"chain_id": CHAIN_ID, "poll": 0.02, "timeout": 120.0, "resend": 0.3} | options))
        self.accounts = [local_account(index) for index in range(10)]
        self._snapshots = []

    def ask(self, method: str, *params):
        return self.web3.provider.make_request(method, list(params))["result"]

    def prepare(self) -> "AnvilChain":
        """Fund the accounts; one second between blocks, as on the embedded chain."""
        for account in self.accounts:
            self.ask("anvil_setBalance", account.address, FUNDS)
        self.ask("anvil_setBlockTimestampInterval", 1)
        return self

    def pool_size(self) -> int:
        """Transactions that wait for a block."""
        return int(self.ask("txpool_status")["pending"], 16)

    def seen(self, contract):
        """The contract through this client."""
        return self.web3.eth.contract(address=contract.address, abi=contract.abi)

    def mine(self, blocks: int = 1) -> None:
        self.ask("anvil_mine", hex(blocks))

    def travel(self, seconds: int) -> None:
        self.travel_to(self.now() + seconds)

    def travel_to(self, timestamp: int) -> None:
        self.ask("evm_setNextBlockTimestamp", timestamp)
        self.mine()

    def snapshot(self) -> int:
        self._snapshots.append(self.ask("evm_snapshot"))
        return len(self._snapshots) - 1

    def revert(self, snapshot: int) -> None:
        self.ask("evm_revert", self._snapshots[snapshot])
        self._snapshots[snapshot] = self.ask("evm_snapshot")  # anvil uses a snapshot up; here it stays valid


@pytest.fixture(scope="session")
def anvil_binary() -> Path:
    if not BINARY.exists() or shutil.which("node") is None:
        pytest.skip("anvil is not installed (npm install)")
    return BINARY


@pytest.fixture(scope="session")
def start_anvil(anvil_binary):
    """Start further anvil processes; all of them end with the tests."""
    running = []

    def start(*options: str, state: Path | None = None) -> Anvil:
        running.append(Anvil(*options, state=state))
        return running[-1]

    yield start
    for node in running:
        node.stop(signal.SIGKILL)


@pytest.fixture(scope="module")
def anvil(start_anvil) -> Anvil:
    """A node of the test module's own."""
    return start_anvil()


@pytest.fixture(params=["embedded", pytest.param("anvil", marks=pytest.mark.anvil)])
def chain(request):
    """A chain with ten funded accounts and control over time: in process, and over JSON-RPC."""
    if request.param == "embedded":
        with EmbeddedChain() as chain:
            yield chain
        return
    with AnvilChain(request.getfixturevalue("anvil").url).prepare() as chain:
        before = chain.snapshot()
        yield chain
        chain.revert(before)


@pytest.fixture
def connect():
    """Open clients of a node, with options of `RpcChain`; all are closed at the end."""
    opened = []

    def open_client(node, **options) -> AnvilChain:
        opened.append(AnvilChain(getattr(node, "url", node), **options))
        return opened[-1]

    yield open_client
    for client in opened:
        client.close()


@pytest.fixture(scope="session")
def counter():
    """A small contract: what it compiles to."""
    return compile_code(COUNTER, output_formats=["abi", "bytecode"])


@pytest.fixture
def deploy(counter):
    """Put the contract on a chain."""

    def put(chain):
        factory = chain.web3.eth.contract(abi=counter["abi"], bytecode=counter["bytecode"])
        receipt = chain.send(factory.constructor(), account=chain.accounts[0])
        return chain.web3.eth.contract(address=receipt.contract, abi=counter["abi"])

    return put


@pytest.fixture
def stranger():
    """An account that nobody has funded."""
    return Account.from_key("0x" + "11" * 32)


@pytest.fixture
def eventually():
    """Wait for something that another thread or process does."""

    def wait(condition, seconds: float = 120.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.02)

    return wait


@pytest.fixture
def in_background():
    """Run a call in a thread; the result is a function that waits for its value or raises its error."""
    threads = []

    def start(work):
        outcome = {}

        def run() -> None:
            try:
                outcome["value"] = work()
            except BaseException as error:
                outcome["error"] = error

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        threads.append(thread)

        def result():
            thread.join(timeout=120)
            if "error" in outcome:
                raise outcome["error"]
            return outcome["value"]

        return result

    yield start
    for thread in threads:
        thread.join(timeout=120)


@pytest.fixture
def market(start_anvil, connect, deploy, request):
    """A node of the test's own, a client, and the contract."""
    node = start_anvil(*getattr(request, "param", ()))
    chain = connect(node).prepare()
    return node, chain, deploy(chain)
