"""Another implementation of the chain's rules agrees: a settled, a failed and a large epoch on anvil, same gas."""

import pytest

from martfl.chain.state import Phase

pytestmark = pytest.mark.anvil


@pytest.fixture
def on_anvil(chain, request, market_type):
    """A market on anvil, whatever the other tests run on."""
    node = request.getfixturevalue("start_anvil_once")
    client = request.getfixturevalue("connect")(node)
    client.accounts = chain.accounts
    client.prepare()
    before = client.snapshot()
    yield lambda **changes: market_type(client, **changes)
    client.revert(before)


def test_settled_epoch(on_anvil, make_market):
    gas = []
    for market in (on_anvil(), make_market()):
        market.prepared()
        market.drop(1)
        gas.append(market.publish().gas)
        assert market.trading.model(1).point == market.point(1 + 40_000 * 2 + 5_536 * 4)
        market.pass_deadline()
        assert sum(market.claim_all().values()) == market.amount
        assert market.held() == 0
    assert abs(gas[0] - gas[1]) <= 100  # addresses differ in their zero bytes


def test_failed_epoch_and_bad_points(on_anvil):
    market = on_anvil()
    market.open()
    for bad in (bytes(128), b"\1" * 128):
        with pytest.raises(Exception, match="trading: point"):
            market.commit(0, commitment=bad)
    market.commit(0)
    market.close_commitments()
    market.prepare({0: 65_536})
    market.pass_deadline()
    market.expire()
    assert market.state().phase == Phase.FAILED
    assert sum(market.claim_all().values()) == market.amount
