"""Exact markets: no coalition gains by breaking the rules."""

import functools

import pytest
from coalition import Coalition, run
from exact_market import ExactMarket
from exact_world import ExactWorld


def make_world(chain, helper, token: str, asks: tuple[int, ...]) -> ExactWorld:
    if token == "coin":
        return ExactWorld(ExactMarket(chain, providers=4, asks=asks))
    contract = helper(token, 10**24)
    market = ExactMarket(chain, providers=4, asks=asks, token=contract.address)
    chain.send(contract.functions.approve(market.trading.address, 10**24), account=market.acquirer)
    return ExactWorld(market, token=contract, most={"token_fee": 99, "token_false": 0}.get(token, 10**24))


def test_few_runs(embedded, helper):
    run(functools.partial(Coalition, embedded, functools.partial(make_world, embedded, helper)), runs=15, steps=25)


@pytest.mark.long
def test_many_runs(embedded, helper):
    run(functools.partial(Coalition, embedded, functools.partial(make_world, embedded, helper)), runs=400, steps=50)
