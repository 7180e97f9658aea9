"""A market on a chain, driven phase by phase.

Every test runs on the embedded chain, on anvil with `MARTFL_TEST_CHAIN=anvil`, on one after the other with `both`.
"""

import contextlib
import functools
import hashlib
import os
import sys
import threading
from pathlib import Path

import pytest
from eth_utils import keccak
from py_arkworks_bls12381 import G1Point, Scalar

from martfl.chain.compile import compiled
from martfl.chain.embedded import EmbeddedChain, local_account
from martfl.chain.network import RevertedError
from martfl.chain.state import ExactModel, Terms
from martfl.chain.trading import Trading

sys.path.insert(0, str(Path(__file__).parent))  # `trading_book`, for the tests of both schemes
ORDER = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
WINDOW = 1000
FEE = 7_000
DEPOSIT = 10**15 + 11
CONTRACTS = Path(__file__).parent
CHAINS = {"embedded": ["embedded"], "anvil": ["anvil"], "both": ["embedded", "anvil"]}
CHOSEN = CHAINS[os.environ.get("MARTFL_TEST_CHAIN", "embedded")]
ACCOUNTS = [local_account(index) for index in range(130)]


@functools.cache
def point(number: int) -> bytes:
    """number · G as EIP-2537 writes it."""
    xy = bytes((G1Point() * Scalar(number % ORDER)).to_xy_bytes_be())
    return bytes(16) + xy[:48] + bytes(16) + xy[48:]


def word(text: str) -> bytes:
    """32 bytes that stand for `text`."""
    return hashlib.sha256(text.encode()).digest()


@contextlib.contextmanager
def refused(reason: str):
    """The contract refuses, and says so in these words."""
    with pytest.raises(RevertedError) as error:
        yield
    assert error.value.reason == f"trading: {reason}"


class Market:
    """One acquirer, some providers and a stranger, with exact settlement; provider i commits to (i + 2) · G."""

    client = Trading
    refused = staticmethod(refused)
    point = staticmethod(point)
    word = staticmethod(word)
    fee, amount, window, order = FEE, DEPOSIT, WINDOW, ORDER

    def __init__(self, chain, *, providers: int = 3, **changes) -> None:
        self.chain = chain
        self.acquirer, self.stranger, *self.providers = chain.accounts[: providers + 2]
        self.names = [provider.address for provider in self.providers]
        self.initial = ExactModel(content=word("initial"), blinding=5, point=point(1))
        values = {
            "acquirer": self.acquirer.address,
            "commit_window": WINDOW,
            "prepare_window": WINDOW,
            "publish_window": WINDOW,
            "settle_window": WINDOW,
            "advance_fee": FEE,
            "penalty_ratio": 5_000,
            "minimum_deposit": 1_000,
            "terms_hash": word("terms"),
            "settlement": self.initial,
        }
        self.terms = Terms(**(values | changes))
        self.trading = self.client.deploy(chain, terms=self.terms, account=self.acquirer)
        self.epoch = 0

    def open(self, amount: int = DEPOSIT) -> int:
        self.epoch = self.trading.new_epoch(nonce=word("acquirer"), amount=amount, account=self.acquirer).epoch
        return self.epoch

    def commit(self, index: int, **changes):
        values = {"commitment": point(index + 2), "nonce": word(f"nonce {index}"), "account": self.providers[index]}
        return self.trading.commit_model(self.epoch, **(values | changes))

    def close_commitments(self) -> None:
        self.chain.travel_to(self.state().deadline + 1)

    def committed(self, amount: int = DEPOSIT) -> int:
        """Open, have everybody commit, let the window pass."""
        self.open(amount)
        for index in range(len(self.providers)):
            self.commit(index)
        self.close_commitments()
        return self.epoch

    def advance(self, *indices: int, **changes):
        values = {"providers": [self.names[i] for i in indices], "account": self.acquirer}
        return self.trading.buy_advance(self.epoch, **(values | changes))

    def prepare(self, parts: dict[int, int] | None = None, **changes):
        parts = {0: 40_000, 1: 20_000, 2: 5_536} if parts is None else parts
        values = {"providers": [self.names[i] for i in parts], "weights": list(parts.values())}
        return self.trading.prepare(self.epoch, **({"account": self.acquirer} | values | changes))

    def prepared(self, weights: dict[int, int] | None = None) -> int:
        self.committed()
        self.prepare(weights)
        return self.epoch

    def drop(self, *indices: int, **changes):
        values = {"providers": [self.names[i] for i in indices], "account": self.acquirer}
        return self.trading.drop(self.epoch, **(values | changes))

    def publish(self, **changes):
        values = {"content": word(f"model {self.epoch}"), "blinding": 17, "account": self.acquirer}
        return self.trading.publish_model(self.epoch, **(values | changes))

    def published(self, weights: dict[int, int] | None = None) -> int:
        self.prepared(weights)
        self.publish()
        return self.epoch

    def pass_deadline(self) -> None:
        """One second too late for the phase that the epoch is in."""
        self.chain.travel_to(self.state().deadline + 1)

    def settled(self, weights: dict[int, int] | None = None) -> int:
        self.published(weights)
        self.pass_deadline()
        return self.epoch

    def expire(self, **changes):
        return self.trading.expire(self.epoch, **({"account": self.stranger} | changes))

    def claim(self, account, **changes) -> int:
        """What the account's claim moved, after checking that it is what the event says."""
        before = self.chain.balance(account.address)
        done = self.trading.claim_reward(self.epoch, account=account, **changes)
        amount = done.events[0].amount
        assert self.chain.balance(account.address) == before - done.receipt.fee + amount
        return amount

    def claim_all(self) -> dict[str, int]:
        """Everybody claims who can; {name: amount}, with the acquirer under its own address."""
        paid = {}
        for account in (self.acquirer, *self.providers):
            with contextlib.suppress(RevertedError):
                paid[account.address] = self.claim(account)
        return paid

    def state(self):
        return self.trading.read_epoch(self.epoch)

    def standing(self, index: int):
        return self.trading.read_provider(self.epoch, self.names[index])

    def held(self) -> int:
        return self.chain.balance(self.trading.address)


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
def make_market(chain):
    """A market with terms of the test's own."""
    return functools.partial(Market, chain)


@pytest.fixture(scope="session")
def market_type():
    """For markets that settle otherwise."""
    return Market


@pytest.fixture
def market(make_market) -> Market:
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


@pytest.fixture
def digest():
    """The digest that the contract keeps of an exact model."""

    def compute(model: ExactModel) -> bytes:
        return keccak(model.content + model.blinding.to_bytes(32, "big") + keccak(model.point))

    return compute
