"""A market on a chain, driven step by step.

Every test runs on the embedded chain, on anvil with `MARTFL_TEST_CHAIN=anvil`, on one after the other with `both`.
"""

import functools
import os
import sys
import threading
from pathlib import Path

import pytest

from martfl.chain.compile import compiled
from martfl.chain.embedded import EmbeddedChain, local_account

sys.path.insert(0, str(Path(__file__).parent))  # markets, books and coalitions, for the tests of both schemes
from exact_market import ExactMarket

CONTRACTS = Path(__file__).parent
CHAINS = {"embedded": ["embedded"], "anvil": ["anvil"], "both": ["embedded", "anvil"]}
CHOSEN = CHAINS[os.environ.get("MARTFL_TEST_CHAIN", "embedded")]
ACCOUNTS = [local_account(index) for index in range(130)]


@pytest.fixture(scope="session")
def embedded():
    """One chain in process for all tests of a worker; each goes back to its beginning."""
    with EmbeddedChain(accounts=len(ACCOUNTS)) as chain:
        yield chain


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.anvil] * (name == "anvil")) for name in CHOSEN])
def chain(request):
    if request.param == "embedded":
        chain = request.getfixturevalue("embedded")
    else:
        node = request.getfixturevalue("start_anvil_once")
        chain = request.getfixturevalue("connect")(node)
        chain.accounts = ACCOUNTS
        if chain.balance(ACCOUNTS[-1].address) == 0:
            chain.prepare()
    before = chain.snapshot()
    yield chain
    chain.revert(before)


@pytest.fixture(scope="session")
def start_anvil_once(start_anvil):
    """One node for all tests of a worker; what it prints is read, or it would stop when the pipe is full."""
    node = start_anvil()
    threading.Thread(target=lambda: [None for _ in node._process.stdout], daemon=True).start()
    return node


@pytest.fixture
def to_the_second(chain):
    """For tests of a window's last second: a node's estimates are not made to the second."""
    if not isinstance(chain, EmbeddedChain):
        pytest.skip("only the embedded chain keeps time to the second")


@pytest.fixture
def make_market(chain):
    """A market with terms of the test's own."""
    return functools.partial(ExactMarket, chain)


@pytest.fixture
def market(make_market) -> ExactMarket:
    return make_market()


@pytest.fixture
def helper(chain):
    """Deploy a contract that exists for tests only: `helper(name, *arguments)`."""

    def deploy(name: str, *arguments):
        code = compiled(name, sources=CONTRACTS)
        factory = chain.web3.eth.contract(abi=list(code.abi), bytecode=code.bytecode)
        receipt = chain.send(factory.constructor(*arguments), account=chain.accounts[0])
        return chain.web3.eth.contract(address=receipt.contract, abi=list(code.abi))

    return deploy
