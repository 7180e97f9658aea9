"""Sampled markets: no coalition gains by breaking the rules; its proofs and those of honest acquirers are real."""

import functools

import pytest
from coalition import Coalition, run
from hypothesis import strategies as st
from hypothesis.stateful import rule
from moves import NAMES, aimed, back, first, who
from sampled_market import SampledMarket
from sampled_world import SampledWorld


class SampledCoalition(Coalition):
    """Adds the steps of the proof, by anybody, right and wrong, in any order."""

    @rule(n=who, ago=back, f=first)
    def draw(self, n, ago, f):
        self.turn(f, lambda: self.world.draw(self.actor(n, aim=False), self.ago(ago)))

    @rule(n=who, aim=aimed, right=st.booleans(), ago=back, f=first)
    def randomise(self, n, aim, right, ago, f):
        self.turn(f, lambda: self.world.randomise(self.actor(n, aim), self.ago(ago), right=right))

    @rule(n=who, aim=aimed, lie=st.sampled_from(("", *NAMES)), ago=back, f=first)
    def commit_inputs(self, n, aim, lie, ago, f):
        self.turn(f, lambda: self.world.commit_inputs(self.actor(n, aim), self.ago(ago), lie))

    @rule(n=who, forged=st.sampled_from((False, False, True)), ago=back, f=first)
    def verify(self, n, forged, ago, f):
        self.turn(f, lambda: self.world.verify(self.actor(n, aim=False), self.ago(ago), forged=forged))

    @rule(n=who, name=st.sampled_from(NAMES), ago=back, f=first)
    def refute_commitment(self, n, name, ago, f):
        self.turn(f, lambda: self.world.refute_commitment(self.actor(n, aim=False), self.ago(ago), name))

    @rule(n=who, ago=back, f=first)
    def challenge(self, n, ago, f):
        self.turn(f, lambda: self.world.challenge(self.actor(n, aim=False), self.ago(ago)))


def make_world(chain, helper, token: str, asks: tuple[int, ...]) -> SampledWorld:
    """Every other set of asks is a market that takes the delay function on trust."""
    options = {"providers": 4, "asks": asks, "optimistic": sum(asks) % 2 == 1}
    if token == "coin":
        return SampledWorld(SampledMarket(chain, **options))
    contract = helper(token, 10**24)
    market = SampledMarket(chain, **options, token=contract.address)
    chain.send(contract.functions.approve(market.trading.address, 10**24), account=market.acquirer)
    return SampledWorld(market, token=contract, most={"token_fee": 99, "token_false": 0}.get(token, 10**24))


def test_few_runs(embedded, helper):
    world = functools.partial(make_world, embedded, helper)
    run(functools.partial(SampledCoalition, embedded, world), runs=4, steps=20)


@pytest.mark.long
def test_many_runs(embedded, helper):
    world = functools.partial(make_world, embedded, helper)
    run(functools.partial(SampledCoalition, embedded, world), runs=60, steps=40)
