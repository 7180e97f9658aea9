"""Markets to test on: one acquirer, a stranger, some sellers with really sealed updates.

What both schemes share is here; `exact_market.py` and `sampled_market.py` add how updates are sealed and settled.
"""

import contextlib
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from eth_account.signers.local import LocalAccount
from eth_utils import keccak

from martfl.chain.deployment import ContractTerms
from martfl.chain.embedded import EmbeddedChain
from martfl.chain.network import RevertedError
from martfl.chain.signing import sign_claim, sign_commit
from martfl.chain.state import Listing, Offer, SignedClaim, SignedCommit, price_of

WINDOW = 1000
DEPOSIT = 10**15 + 11
WHOLE = 65_536


def word(text: str) -> bytes:
    """32 bytes that stand for `text`."""
    return hashlib.sha256(text.encode()).digest()


@contextlib.contextmanager
def refused(reason: str, *, by: str = "trading"):
    """The contract refuses, and says so in these words."""
    with pytest.raises(RevertedError, match=re.escape(reason)) as error:
        yield
    assert error.value.reason == f"{by}: {reason}"


@dataclass(frozen=True)
class Seller:
    """An account with an update: the plain values, the key, the sealed body and the offer that opens its digest."""

    account: LocalAccount
    update: np.ndarray
    secret: bytes
    body: bytes
    offer: Offer

    @property
    def name(self) -> str:
        return str(self.account.address)

    def asking(self, ask: int) -> "Seller":
        return replace(self, offer=replace(self.offer, ask=ask))


def offer_of(account: LocalAccount, commitment: bytes, root: bytes, secret: bytes, ask: int) -> Offer:
    return Offer(provider=account.address, commitment=commitment, root=root, key_hash=keccak(secret), ask=ask)


class Market:
    """The parties and the contract, driven step by step; what is not said is what an honest party would do."""

    window, amount = WINDOW, DEPOSIT
    refused, word = staticmethod(refused), staticmethod(word)
    deploy: Callable[..., Any]

    def __init__(self, chain, *, providers: int = 3, asks: tuple[int, ...] = (), **changes) -> None:
        self.chain = chain
        self.acquirer, self.stranger, *accounts = chain.accounts[: providers + 2]
        asks = asks or tuple(10**12 + 7 * i for i in range(providers))
        self.sellers = [self.seller(account, i, asks[i]) for i, account in enumerate(accounts)]
        values = {
            "acquirer": self.acquirer.address,
            **dict.fromkeys(("commit_window", "buy_window", "key_window", "publish_window", "settle_window"), WINDOW),
            "penalty_ratio": 5_000,
            "minimum_deposit": 1_000,
            "terms_hash": word("terms"),
            "settlement": self.start(),
        }
        self.terms = ContractTerms(**(values | changes))
        self.trading = type(self).deploy(chain, terms=self.terms, account=self.acquirer)
        self.epoch = 0

    # --- what a scheme says -----------------------------------------------------------------------------------

    def seller(self, account: LocalAccount, index: int, ask: int) -> Seller:
        raise NotImplementedError

    def start(self) -> Any:
        raise NotImplementedError

    def publish(self, weights: dict[int, int] | None = None, **changes) -> Any:
        raise NotImplementedError

    def refutation(self, index: int, leaf: int = 0) -> Any:
        raise NotImplementedError

    def standing_digest(self) -> bytes:
        """The contract's digest of the model that stands."""
        return bytes(self.trading.contract.functions.model().call())

    # --- steps ------------------------------------------------------------------------------------------------

    def open(self, amount: int = DEPOSIT) -> int:
        self.epoch = self.trading.new_epoch(amount=amount, account=self.acquirer).epoch
        return self.epoch

    def digest(self, index: int) -> bytes:
        return self.digest_of(self.sellers[index].offer)

    def digest_of(self, offer: Offer, **changes) -> bytes:
        values = {"chain_id": self.chain.chain_id, "market": self.trading.address, "epoch": self.epoch}
        return offer.digest(**(values | changes))

    def commit(self, index: int, **changes):
        values = {"digest": self.digest(index), "account": self.sellers[index].account}
        return self.trading.commit_model(self.epoch, **(values | changes))

    def signed(self, index: int, **changes) -> SignedCommit:
        values = {"chain_id": self.chain.chain_id, "market": self.trading.address, "epoch": self.epoch}
        values |= {"digest": self.digest(index)}
        return sign_commit(self.sellers[index].account, **(values | changes))

    def relay(self, entries: list[SignedCommit] | None = None, **changes):
        entries = [self.signed(i) for i in range(len(self.sellers))] if entries is None else entries
        values = {"entries": entries, "account": self.stranger}
        return self.trading.commit_models(self.epoch, **(values | changes))

    def committed(self, amount: int = DEPOSIT) -> int:
        """Open, have everybody commit, let the window pass."""
        self.open(amount)
        self.relay()
        self.after("commit")
        return self.epoch

    def buy(self, *indices: int, **changes):
        values = {"offers": [self.sellers[i].offer for i in indices], "account": self.acquirer}
        return self.trading.buy(self.epoch, **(values | changes))

    def bought(self, *indices: int, amount: int = DEPOSIT) -> int:
        self.committed(amount)
        self.buy(*(indices or range(len(self.sellers))))
        return self.epoch

    def accept(self, *indices: int, **changes):
        values = {"providers": [self.sellers[i].name for i in indices], "account": self.acquirer}
        return self.trading.accept(self.epoch, **(values | changes))

    def reveal(self, index: int, **changes):
        seller = self.sellers[index]
        values = {"offer": seller.offer, "secret": seller.secret, "account": seller.account}
        return self.trading.reveal(self.epoch, **(values | changes))

    def refute(self, index: int, leaf: int = 0, **changes):
        values = {"offer": self.sellers[index].offer, "account": self.stranger}
        if "refutation" not in changes:
            values["refutation"] = self.refutation(index, leaf)
        return self.trading.refute(self.epoch, **(values | changes))

    def weights(self) -> dict[int, int]:
        """The whole, in parts that are not equal, for all sellers."""
        count = len(self.sellers)
        parts = dict.fromkeys(range(count), WHOLE // (2 * count))
        parts[0] += WHOLE - sum(parts.values())
        return parts

    def listings(self, weights: dict[int, int]) -> list[Listing]:
        return [Listing(offer=self.sellers[i].offer, weight=weight) for i, weight in weights.items()]

    def published(self, weights: dict[int, int] | None = None) -> int:
        weights = self.weights() if weights is None else weights
        self.bought(*weights)
        self.publish(weights)
        return self.epoch

    def settled(self, weights: dict[int, int] | None = None) -> int:
        return self.published(weights)

    # --- money ------------------------------------------------------------------------------------------------

    def claim(self, account: LocalAccount, **changes) -> int:
        """What the account's claim moved, after checking that it is what the event says."""
        before = self.chain.balance(account.address)
        done = self.trading.claim_reward(self.epoch, account=account, **changes)
        amount = done.events[0].amount
        assert self.chain.balance(account.address) == before - done.receipt.fee + amount
        return amount

    def claim_for(self, *indices: int, **changes):
        payees = [SignedClaim(provider=self.sellers[i].name) for i in indices]
        return self.trading.claim_rewards(self.epoch, **({"payees": payees, "account": self.stranger} | changes))

    def signed_claim(self, index: int, receiver: str, **changes) -> SignedClaim:
        values = {"chain_id": self.chain.chain_id, "market": self.trading.address, "epoch": self.epoch}
        return sign_claim(self.sellers[index].account, **(values | {"receiver": receiver} | changes))

    def claim_all(self) -> dict[str, int]:
        """Everybody claims who can; {name: amount}, with the acquirer under its own address."""
        paid = {}
        for account in (self.acquirer, *(seller.account for seller in self.sellers)):
            with contextlib.suppress(RevertedError):
                paid[account.address] = self.claim(account)
        return paid

    def price(self, index: int) -> int:
        return price_of(self.sellers[index].offer.ask, self.state().reward)

    # --- time and reading -------------------------------------------------------------------------------------

    def state(self):
        return self.trading.read_epoch(self.epoch)

    def standing(self, index: int):
        return self.trading.read_provider(self.epoch, self.sellers[index].name)

    def held(self) -> int:
        return self.chain.balance(self.trading.address)

    def deadline(self, name: str) -> int:
        return getattr(self.trading.deadlines(self.epoch), name)

    def next_at(self, second: int) -> None:
        """The next transaction runs in this second."""
        if self.chain.now() < second - 1:
            self.chain.travel_to(second - 1)

    def last_second(self, name: str) -> None:
        """The next transaction runs in the last second of a window."""
        self.next_at(self.deadline(name))

    def after(self, name: str) -> None:
        """The next transaction runs in the first second after a window; a node estimates it a little before."""
        self.next_at(self.deadline(name) + (1 if isinstance(self.chain, EmbeddedChain) else 4))

    def past(self, name: str) -> None:
        """A window is over, for who reads as well."""
        self.chain.travel_to(max(self.deadline(name), self.chain.now()) + 1)
