"""Exact settlement driven at random beside the book of its rules."""

import functools

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule
from trading_book import ACQUIRER, ANYBODY, NAMES, Machine, actors, run

from martfl.chain.state import Bought


class ExactMachine(Machine):
    """Adds publication, the commitments' sum, and objections."""

    lapses = "PUBLISHED"

    def __init__(self, chain, make_market) -> None:
        super().__init__(chain, make_market)
        self.models = [1]  # scalar of the model's point after each settled epoch
        self.pending = 1

    def commitment(self, actor):
        return self.market.point(self.scalar(actor))

    def settled(self):
        self.models.append(self.pending)

    def after_prepare(self, phase):
        self.publish(ACQUIRER, None)

    def scalar(self, actor: str) -> int:
        return 10 + ANYBODY.index(actor)

    @rule(actor=actors, omit=st.sampled_from([None, None, None, *NAMES]))
    def publish(self, actor, omit):
        now, page = self.now(), self.page
        kept = {name: s.weight for name, s in page.sellers.items() if s.weight and not s.dropped}
        allowed = actor == ACQUIRER and page.phase == "PREPARED" and now <= page.deadline and omit not in kept
        bought = [
            Bought(
                provider=self.accounts[name].address,
                commitment=self.commitment(name),
                weight=weight,
            )
            for name, weight in kept.items()
            if name != omit
        ]
        send = functools.partial(self.trading.publish_model, content=bytes(32), blinding=0, bought=bought)
        base = self.trading.model(self.trading.read_epoch(self.epoch).base if self.pages else 0)
        if self.attempt(allowed, send, self.epoch, base=base, account=self.accounts[actor]):
            self.pending = self.models[-1] + sum(self.scalar(name) * weight for name, weight in kept.items())
            assert self.trading.model(self.epoch).point == self.market.point(self.pending)
            page.phase, page.deadline = "PUBLISHED", now + self.window

    @rule(actor=st.sampled_from([*ANYBODY, *NAMES]))
    def object(self, actor):
        page, seller = self.page, self.page.sellers.get(actor)
        allowed = page.at(self.now()) == "PUBLISHED" and seller is not None
        allowed = allowed and seller.weight > 0 and not seller.dropped and not seller.objected
        if self.attempt(allowed, self.trading.object, self.epoch, account=self.accounts[actor]):
            seller.objected = True
            if 2 * sum(s.weight for s in page.sellers.values() if s.objected) > page.weight():
                page.phase = "FAILED"


def test_few_runs(chain, make_market):
    run(functools.partial(ExactMachine, chain, make_market), runs=15, steps=30)


@pytest.mark.long
def test_many_runs(embedded, market_type):
    machine = functools.partial(ExactMachine, embedded, functools.partial(market_type, embedded))
    run(machine, runs=500, steps=50)
