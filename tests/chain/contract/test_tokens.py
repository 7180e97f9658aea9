"""Payment in an ERC-20 token: the usual kind, one that returns nothing, and kinds that are refused or refuse."""

import pytest

from martfl.chain.network import RevertedError
from martfl.chain.state import Phase, SaleState

TRUE, FALSE, REVERT, FEE = range(4)  # what `token_moody` does when somebody in disgrace is to be paid


@pytest.fixture
def token_market(helper, make_market, chain):
    def make(kind: str, supply: int = 10**24, **changes):
        token = helper(kind, supply)
        market = make_market(token=token.address, **changes)
        chain.send(token.functions.approve(market.trading.address, supply), account=market.acquirer)
        return market, token

    return make


@pytest.mark.parametrize("kind", ["token_plain", "token_silent", "token_moody"])
def test_a_whole_epoch_in_tokens(token_market, kind):
    market, token = token_market(kind, asks=(100, 5_000, 0))
    balance = token.functions.balanceOf
    market.committed(20_000)
    market.buy(0, 1, 2)
    assert balance(market.trading.address).call() == 20_000
    market.publish({0: 40_000, 2: 25_536})
    market.accept(1)
    dues = {seller.name: market.standing(i).claimable for i, seller in enumerate(market.sellers)}
    refund, before = market.state().refundable, balance(market.acquirer.address).call()
    market.claim_for(0, 1)
    market.trading.claim_reward(1, account=market.sellers[2].account)
    market.trading.claim_reward(1, account=market.acquirer)
    assert {seller.name: balance(seller.name).call() for seller in market.sellers} == dues
    assert balance(market.acquirer.address).call() - before == refund
    assert sum(dues.values()) + refund == 20_000
    assert balance(market.trading.address).call() == market.held() == 0


def test_token_that_charges_a_fee_is_refused(token_market):
    market, _ = token_market("token_fee")
    with market.refused("token charges a fee"):
        market.open(20_000)
    market.open(0)
    with market.refused("token charges a fee"):
        market.trading.deposit(1, amount=20_000, account=market.acquirer)


def test_token_that_says_no_is_refused(token_market):
    market, _ = token_market("token_false")
    with market.refused("token refused"):
        market.open(20_000)


def test_opening_without_deposit_moves_no_token(token_market):
    """Some tokens refuse to move nothing."""
    market, _ = token_market("token_false")
    market.open(0)
    market.past("buy")
    assert market.state().phase == Phase.EMPTY


@pytest.mark.parametrize("mood", [FALSE, REVERT])
def test_receiver_that_the_token_refuses_harms_itself_only(token_market, chain, mood):
    market, token = token_market("token_moody", asks=(100, 5_000, 0))
    market.bought(amount=20_000)
    market.publish({0: 65_536})
    market.accept(1, 2)
    chain.send(token.functions.frown(market.sellers[0].name, mood), account=market.acquirer)
    due = market.standing(0).claimable
    done = market.claim_for(0, 1)
    assert [event.provider for event in done.events] == [market.sellers[1].name]
    assert (market.standing(0).state, market.standing(0).claimable) == (SaleState.LISTED, due)
    with pytest.raises(RevertedError, match=r"token refused|token: never"):
        market.trading.claim_reward(1, account=market.sellers[0].account)
    market.trading.claim_reward(1, account=market.acquirer)
    assert token.functions.balanceOf(market.trading.address).call() == due
    market.claim_for(payees=[market.signed_claim(0, market.stranger.address)])
    assert token.functions.balanceOf(market.stranger.address).call() == due
    assert token.functions.balanceOf(market.trading.address).call() == 0


def test_coins_are_refused_where_tokens_are_wanted(token_market):
    market, _ = token_market("token_plain")
    for amount in (0, 5):
        with market.refused("this market pays in a token"):
            market.chain.send(market.trading.contract.functions.new_epoch(amount), account=market.acquirer, value=5)


def test_no_deposit_without_allowance(token_market):
    market, token = token_market("token_plain")
    market.chain.send(token.functions.approve(market.trading.address, 3), account=market.acquirer)
    with pytest.raises(RevertedError, match="no reason given"):
        market.open(20_000)
    assert market.trading.epoch_count() == 0


@pytest.mark.parametrize(("ratio", "asks"), [(5_000, None), (1, None), (1_000_000, None), (5_000, "all")])
def test_the_largest_deposit_fits_every_field(token_market, ratio, asks):
    """2^96 - 1 units: nothing runs over, nothing is lost."""
    most = 2**96 - 1
    reward = most * 10_000 // (10_000 + ratio)
    wanted = (reward, 0, 0) if asks else (reward // 3, reward // 3, reward // 5)
    market, token = token_market("token_plain", 2**97, asks=wanted, penalty_ratio=ratio)
    with market.refused("deposit too large"):
        market.open(most + 1)
    market.bought(0, amount=most)
    assert market.state().reward == reward
    if not asks:
        market.buy(1, 2)
    market.publish({0: 65_536})
    market.past("keys")
    dues = sum(market.standing(i).claimable for i in range(3))
    assert dues + market.state().refundable == most
    market.claim_for(0)
    market.trading.claim_reward(1, account=market.acquirer)
    assert token.functions.balanceOf(market.trading.address).call() == 0
    market.open(0)
    with market.refused("deposit too large"):
        market.trading.deposit(2, amount=2**96, account=market.acquirer)
