"""Payment in an ERC-20 token: the usual kind, one that returns nothing, and kinds that are refused."""

import pytest

from martfl.chain.network import RevertedError


@pytest.fixture
def token_market(helper, make_market, chain):
    def make(kind: str):
        token = helper(kind, 10**24)
        market = make_market(token=token.address)
        chain.send(token.functions.approve(market.trading.address, 10**24), account=market.acquirer)
        return market, token

    return make


@pytest.mark.parametrize("kind", ["token_plain", "token_silent"])
def test_a_whole_epoch_in_tokens(token_market, kind):
    market, token = token_market(kind)
    balance = token.functions.balanceOf
    coins = market.held()
    market.committed(20_000)
    market.trading.read_epoch(1)
    market.advance(2)
    assert balance(market.trading.address).call() == 20_000 + market.fee
    market.prepare({0: 40_000, 1: 25_536})
    market.publish()
    market.pass_deadline()
    for account in (market.acquirer, *market.providers):
        owed = market.trading.read_provider(1, account.address).claimable or market.trading.refundable(1)
        before = balance(account.address).call()
        market_paid = 0
        try:
            market_paid = market.trading.claim_reward(1, account=account).events[0].amount
        except RevertedError as error:
            assert "nothing to claim" in error.reason
        assert balance(account.address).call() == before + market_paid == before + (owed if market_paid else 0)
    assert balance(market.trading.address).call() == 0
    assert market.held() == coins == 0


def test_token_that_charges_a_fee_is_refused(token_market):
    market, _ = token_market("token_fee")
    with market.refused("token charges a fee"):
        market.open(20_000)


def test_token_that_says_no_is_refused(token_market):
    market, _ = token_market("token_false")
    with market.refused("token refused"):
        market.open(20_000)


def test_coins_are_refused_where_tokens_are_wanted(token_market):
    market, _ = token_market("token_plain")
    call = market.trading.contract.functions.new_epoch(bytes(32), 5)
    with market.refused("this market pays in a token"):
        market.chain.send(call, account=market.acquirer, value=5)


def test_no_deposit_without_allowance(token_market):
    market, token = token_market("token_plain")
    market.chain.send(token.functions.approve(market.trading.address, 3), account=market.acquirer)
    with pytest.raises(RevertedError):
        market.open(20_000)
