"""Random parties call random functions at random times; an independent book of the rules says what must happen.

This is what both schemes share; `test_machine.py` here and in `sampled/` add how an aggregation is settled.

Checked at every step: the contract accepts exactly what the book accepts, holds exactly what was paid in and not yet
paid out, and stands in the phase that the book names. At the end of every run all deadlines pass and everybody
claims: the contract must be empty, so no reachable state is a dead end.
"""

from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from martfl.chain.embedded import EmbeddedChain
from martfl.chain.network import RevertedError

PROVIDERS = 4
ACQUIRER, STRANGER = "acquirer", "stranger"
NAMES = [f"p{i}" for i in range(PROVIDERS)]
ANYBODY = [ACQUIRER, STRANGER, *NAMES]
WHOLE, RATIO, MINIMUM = 65_536, 5_000, 1_000


@dataclass
class Seller:
    weight: int = 0
    advance: bool = False
    dropped: bool = False
    objected: bool = False
    paid: bool = False


@dataclass
class Page:
    """One epoch in the book."""

    deadline: int
    lapses: str = ""  # the phase in which silence is consent
    deposit: int = 0
    fees: int = 0
    phase: str = "OPEN"
    refunded: bool = False
    sellers: dict[str, Seller] = field(default_factory=dict)

    def standing(self) -> list[Seller]:
        return [s for s in self.sellers.values() if not s.dropped]

    def weight(self) -> int:
        return sum(s.weight for s in self.standing())

    def at(self, now: int) -> str:
        return "SETTLED" if self.phase == self.lapses and now > self.deadline else self.phase

    def dues(self, phase: str, fee: int) -> dict[str, int]:
        """What each party gets in all, whether taken or not; the acquirer gets what nobody else does."""
        reward = self.deposit * 10_000 // (10_000 + RATIO)
        payees = {name: s for name, s in self.sellers.items() if not s.dropped} or self.sellers  # all dropped: void
        lost = fee * sum(s.advance for name, s in self.sellers.items() if name not in payees)
        by_weight = {"SETTLED": reward + lost, "FAILED": self.deposit + lost}.get(phase, 0)
        equal = {"EMPTY": lost, "DROPPED": reward + lost, "ABANDONED": self.deposit - reward + lost}.get(phase, 0)
        if phase == "DROPPED" and not self.standing():
            by_weight, equal = reward, 0
        weight = sum(s.weight for s in payees.values())
        dues = {}
        for name, seller in payees.items():
            dues[name] = equal // len(payees) + (fee if seller.advance else 0)
            if by_weight:
                dues[name] += by_weight // weight * seller.weight
        return dues | {ACQUIRER: self.deposit + self.fees - sum(dues.values())}


FINAL = ("SETTLED", "FAILED", "EMPTY", "DROPPED", "ABANDONED")
subsets = st.lists(st.sampled_from(NAMES), max_size=PROVIDERS)
actors = st.sampled_from(ANYBODY) | st.just(ACQUIRER)


class Machine(RuleBasedStateMachine):
    """Drives the contract and the book side by side. A scheme says how to commit, and what follows `prepare`."""

    lapses = ""
    slots = PROVIDERS

    def commitment(self, actor: str) -> bytes:
        """What the actor commits to."""
        raise NotImplementedError

    def settled(self) -> None:
        """The last epoch is settled: its model is the next one's base."""

    def after_prepare(self, phase: str) -> None:
        """The honest step in a phase of the scheme's own."""

    def __init__(self, chain, make_market) -> None:
        super().__init__()
        self.chain, self.start = chain, chain.snapshot()
        self.market = make_market(providers=PROVIDERS)
        self.trading, self.window, self.fee = self.market.trading, self.market.window, self.market.fee
        self.accounts = {ACQUIRER: self.market.acquirer, STRANGER: self.market.stranger}
        self.accounts |= dict(zip(NAMES, self.market.providers, strict=True))
        self.pages: list[Page] = []
        self.held = 0

    # --- the book's view of now -------------------------------------------------------------------------------

    def now(self) -> int:
        return self.chain.now() + 1

    @property
    def page(self) -> Page:
        return self.pages[-1] if self.pages else Page(deadline=0, phase="NONE")

    @property
    def epoch(self) -> int:
        return len(self.pages)

    def buying(self, actor: str) -> bool:
        inside = self.page.deadline < self.now() <= self.page.deadline + self.window
        return actor == ACQUIRER and self.page.phase == "OPEN" and inside

    def end(self) -> int:
        return self.page.deadline + (self.window if self.page.phase == "OPEN" else 0)

    def attempt(self, allowed: bool, send, *arguments, **named) -> bool:
        """The contract does exactly what the book allows."""
        try:
            send(*arguments, **named)
        except RevertedError as error:
            assert not allowed, f"the book allows it, the contract says {error.reason}"
            assert error.reason.startswith("trading: "), error.reason
            return False
        assert allowed, "the contract allows it, the book does not"
        return True

    # --- rules ------------------------------------------------------------------------------------------------

    @rule(offset=st.sampled_from([-1, 0, 3]), second=st.booleans())
    def wait(self, offset, second):
        """The next call comes in the last second of a window, in the first after it, or a little later."""
        if not isinstance(self.chain, EmbeddedChain) and offset < 3:
            offset = -3  # a node's estimates are not made to the second
        target = self.page.deadline + offset + (self.window if second else 0)
        if target > self.chain.now():
            self.chain.travel_to(target)

    @rule(actor=actors, amount=st.sampled_from([0, 999, 10_001, 10**15 + 7]))
    def new_epoch(self, actor, amount):
        now = self.now()
        before = self.page.at(now)
        allowed = actor == ACQUIRER and (not self.pages or before in FINAL)
        account = self.accounts[actor]
        if self.attempt(allowed, self.trading.new_epoch, nonce=bytes(32), amount=amount, account=account):
            if before == "SETTLED":
                self.settled()
            self.pages.append(Page(deadline=now + self.window, deposit=amount, lapses=self.lapses))
            self.held += amount

    @rule(actor=actors, amount=st.sampled_from([0, 1, 5_000]))
    def deposit(self, actor, amount):
        allowed = actor == ACQUIRER and self.page.phase == "OPEN" and self.now() <= self.page.deadline and amount > 0
        if self.attempt(allowed, self.trading.deposit, self.epoch, amount=amount, account=self.accounts[actor]):
            self.page.deposit += amount
            self.held += amount

    @rule(actor=st.sampled_from([*NAMES, *NAMES, STRANGER, ACQUIRER]))
    def commit(self, actor):
        page = self.page
        allowed = actor != ACQUIRER and page.phase == "OPEN" and self.now() <= page.deadline
        allowed = allowed and page.deposit >= MINIMUM and actor not in page.sellers
        named = {"commitment": self.commitment(actor), "nonce": bytes(32), "account": self.accounts[actor]}
        if self.attempt(allowed, self.trading.commit_model, self.epoch, **named):
            page.sellers[actor] = Seller()

    @rule(actor=actors, chosen=subsets)
    def buy_advance(self, actor, chosen):
        sellers = [self.page.sellers.get(name) for name in chosen]
        allowed = self.buying(actor) and 0 < len(chosen) == len(set(chosen))
        allowed = allowed and all(s and not s.dropped and not s.advance for s in sellers)
        named = [self.accounts[name].address for name in chosen]
        if self.attempt(allowed, self.trading.buy_advance, self.epoch, providers=named, account=self.accounts[actor]):
            for seller in sellers:
                seller.advance = True
            self.page.fees += self.fee * len(chosen)
            self.held += self.fee * len(chosen)

    @rule(actor=actors, chosen=subsets, spoil=st.sampled_from([0, 0, 0, 1, -1]), data=st.data())
    def prepare(self, actor, chosen, spoil, data):
        page = self.page
        if data.draw(st.booleans()):
            chosen = [name for name in page.sellers if name in NAMES]
        weights = self.split(len(chosen), data)
        if weights:
            weights[0] += spoil
        self.weigh(actor, chosen, weights)

    def weigh(self, actor: str, chosen: list[str], weights: list[int]) -> None:
        now, page = self.now(), self.page
        sellers = [page.sellers.get(name) for name in chosen]
        allowed = self.buying(actor) and len(chosen) == len(set(chosen)) and all(s and not s.dropped for s in sellers)
        allowed = allowed and len(chosen) <= self.slots
        allowed = allowed and (not weights or (sum(weights) == WHOLE and min(weights) > 0))
        named = [self.accounts[name].address for name in chosen]
        account = self.accounts[actor]
        if self.attempt(allowed, self.trading.prepare, self.epoch, providers=named, weights=weights, account=account):
            for seller, weight in zip(sellers, weights, strict=True):
                seller.weight = weight
            page.phase = "PREPARED" if weights else "EMPTY"
            page.deadline = now + self.window

    def split(self, count: int, data) -> list[int]:
        if count == 0:
            return []
        cuts = st.lists(st.integers(1, WHOLE - 1), min_size=count - 1, max_size=count - 1, unique=True)
        return [b - a for a, b in pairwise([0, *sorted(data.draw(cuts)), WHOLE])]

    @rule(actor=actors, chosen=subsets)
    def drop(self, actor, chosen):
        page = self.page
        sellers = [page.sellers.get(name) for name in chosen]
        allowed = actor == ACQUIRER and page.phase in ("OPEN", "PREPARED") and self.now() <= self.end()
        allowed = allowed and len(chosen) == len(set(chosen))
        allowed = allowed and all(s and not s.dropped and (s.weight or s.advance) for s in sellers)
        named = [self.accounts[name].address for name in chosen]
        if self.attempt(allowed, self.trading.drop, self.epoch, providers=named, account=self.accounts[actor]):
            for seller in sellers:
                seller.dropped = True
            if page.phase == "PREPARED" and page.weight() == 0:
                page.phase = "DROPPED"

    @rule()
    def go_on(self):
        """What an honest epoch would do next, so that runs get far."""
        page = self.page
        if not self.pages or page.at(self.now()) in FINAL:
            self.new_epoch(ACQUIRER, 10**15 + 7)
        elif page.phase == "OPEN" and self.now() <= page.deadline:
            self.commit(next((name for name in NAMES if name not in page.sellers), NAMES[0]))
            if len(page.sellers) >= 2:
                self.chain.travel_to(page.deadline)
        elif page.phase == "OPEN":
            chosen = [n for n, s in page.sellers.items() if n in NAMES and not s.dropped][: self.slots]
            rest = WHOLE - len(chosen) + 1
            self.weigh(ACQUIRER, chosen, [rest, *[1] * (len(chosen) - 1)] if chosen else [])
        else:
            self.after_prepare(page.phase)

    @rule(actor=actors)
    def expire(self, actor):
        now, page = self.now(), self.page
        allowed = bool(self.pages) and page.at(now) not in FINAL and now > self.end()
        if self.attempt(allowed, self.trading.expire, self.epoch, account=self.accounts[actor]):
            page.phase = "ABANDONED" if page.phase == "OPEN" else "FAILED"

    @rule(actor=actors, back=st.integers(0, 2))
    def claim(self, actor, back):
        number = max(1, self.epoch - back)
        page = self.pages[number - 1] if self.pages else self.page
        phase, seller = page.at(self.now()), page.sellers.get(actor)
        taken = page.refunded if actor == ACQUIRER else seller is None or seller.paid
        due = 0 if phase not in FINAL or taken else page.dues(phase, self.fee).get(actor, 0)
        account, before = self.accounts[actor], self.chain.balance(self.trading.address)
        if self.attempt(due > 0, self.trading.claim_reward, number, account=account):
            assert before - self.chain.balance(self.trading.address) == due
            self.held -= due
            if actor == ACQUIRER:
                page.refunded = True
            else:
                seller.paid = True

    @invariant()
    def holds_what_is_owed(self):
        assert self.chain.balance(self.trading.address) == self.held

    @invariant()
    def stands_where_the_book_says(self):
        if self.pages:
            seen = self.trading.read_epoch(self.epoch).phase.name  # as of the latest block, or of the one to come
            assert seen in {self.page.at(self.chain.now()), self.page.at(self.now())}

    def teardown(self):
        """From wherever it stands, everybody's money can be got out within the deadlines."""
        if self.pages:
            self.chain.travel_to(max(self.chain.now(), self.end()) + 3)
            if self.page.at(self.now()) not in FINAL:
                self.expire(STRANGER)
            for back in range(self.epoch):
                for actor in ANYBODY:
                    self.claim(actor, back) if back < 3 else self.claim_old(actor, self.epoch - back)
            self.holds_what_is_owed()
            assert self.held == 0
        self.chain.revert(self.start)

    def claim_old(self, actor: str, number: int) -> None:
        pages, self.pages = self.pages, self.pages[:number]
        try:
            self.claim(actor, 0)
        finally:
            self.pages = pages


def run(machine, *, runs: int, steps: int) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=runs, stateful_step_count=steps, deadline=None))
