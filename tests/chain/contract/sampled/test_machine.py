"""Sampled settlement driven at random beside the book of its rules; delay function, openings and proofs are real."""

import functools

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule
from trading_book import ACQUIRER, ANYBODY, NAMES, STRANGER, Machine, actors, run

from martfl.settlement.sampled.update import blinding, update_root
from martfl.settlement.sampled.vdf import VdfProof, evaluate


class SampledMachine(Machine):
    """Adds root, randomness, inputs, proof, and refutations."""

    lapses, slots = "PROVED", 3

    def __init__(self, chain, make_market) -> None:
        super().__init__(chain, make_market)
        self.false = ""  # whose sampled values are posted wrongly
        self.delay = VdfProof(1, 1, 0)

    def commitment(self, actor):
        return _root(self.market, NAMES.index(actor)) if actor in NAMES else self.market.word(actor)

    def settled(self):
        self.market.model = self.market.aggregated.model

    def after_prepare(self, phase):
        steps = {
            "PREPARED": lambda: self.publish(ACQUIRER),
            "PUBLISHED": lambda: self.randomise(STRANGER, False),
            "RANDOMISED": lambda: self.commit_inputs(ACQUIRER, ""),
            "INPUTS": lambda: self.verify(STRANGER, False),
            "PROVED": lambda: self.wait(0, False),
        }
        steps[phase]()

    def enter(self, phase: str, now: int) -> None:
        self.page.phase, self.page.deadline = phase, now + self.window

    def at(self, phase: str) -> bool:
        return self.page.phase == phase and self.now() <= self.page.deadline

    @rule(actor=actors)
    def publish(self, actor):
        now, root = self.now(), bytes(32)
        self.market.epoch = self.epoch
        if self.page.phase == "PREPARED":
            self.market.aggregate()
            root = self.market.new.root
        named = {"content": bytes(32), "root": root, "nonce": bytes(32), "account": self.accounts[actor]}
        allowed = actor == ACQUIRER and self.at("PREPARED")
        if self.attempt(allowed, self.trading.publish_root, self.epoch, **named):
            self.delay = evaluate(self.trading.root(self.epoch).seed, squarings=self.market.steps)
            self.enter("PUBLISHED", now)

    @rule(actor=actors, forged=st.booleans())
    def randomise(self, actor, forged):
        now, proof = self.now(), VdfProof(self.delay.y ^ forged, self.delay.pi, self.delay.nonce)
        allowed = self.at("PUBLISHED") and not forged
        named = {"proof": proof, "account": self.accounts[actor]}
        if self.attempt(allowed, self.trading.submit_randomness, self.epoch, **named):
            self.enter("RANDOMISED", now)

    @rule(actor=actors, false=st.sampled_from(["", *NAMES]))
    def commit_inputs(self, actor, false):
        market, now, posted, old, new = self.market, self.now(), {}, None, None
        old = new = market.tree(market.model)
        if self.page.phase == "RANDOMISED":
            market.state_samples()
            posted, old, new = dict(market.commitments), market.old, market.new
            false = false if self.address(false) in posted else ""
            if false:
                posted[self.address(false)] ^= 1
        named = {"commitments": posted, "old": old, "new": new, "account": self.accounts[actor]}
        allowed = actor == ACQUIRER and self.at("RANDOMISED")
        if self.attempt(allowed, self.trading.commit_inputs, self.epoch, **named):
            self.false = false
            self.enter("INPUTS", now)

    def address(self, name: str) -> str:
        return self.accounts[name].address if name else ""

    @rule(actor=st.sampled_from(ANYBODY), forged=st.booleans())
    def verify(self, actor, forged):
        now = self.now()
        if self.page.phase != "INPUTS" or forged:
            call = self.trading._f.verify_aggregation(self.epoch, [], [], [], [0] * 8)
            self.attempt(False, self.trading._send, call, self.accounts[actor], 0, None)
            return
        send = functools.partial(self.market.verify, account=self.accounts[actor])
        if self.attempt(self.at("INPUTS") and not self.false, send):
            self.enter("PROVED", now)

    @rule(actor=st.sampled_from(ANYBODY), name=st.sampled_from(NAMES))
    def refute(self, actor, name):
        bought = self.page.phase in ("INPUTS", "PROVED") and self.address(name) in self.market.commitments
        if not bought:
            return
        send = functools.partial(self.market.refute, NAMES.index(name), account=self.accounts[actor])
        if self.attempt((self.at("INPUTS") or self.at("PROVED")) and name == self.false, send):
            self.page.phase = "FAILED"


@functools.cache
def _root(market, index: int) -> bytes:
    return update_root(market.update_tree(index), blinding=blinding(market.seeds[index]))


def test_few_runs(chain, make_market):
    run(functools.partial(SampledMachine, chain, make_market), runs=2, steps=30)


@pytest.mark.long
def test_many_runs(embedded, sampled_type):
    machine = functools.partial(SampledMachine, embedded, functools.partial(sampled_type, embedded))
    run(machine, runs=60, steps=50)
