"""buy_advance: what must be seen before weights can be set is bought first, at the flat fee."""

from martfl.chain.events import AdvanceBought


def test_names_the_bought_and_takes_the_fees(market):
    market.committed()
    before = market.held()
    done = market.advance(0, 2)
    assert done.events == (AdvanceBought(epoch=1, providers=(market.names[0], market.names[2])),)
    assert market.held() == before + 2 * market.fee
    assert [market.standing(i).advance for i in range(3)] == [True, False, True]
    assert market.state().advanced == 2


def test_more_may_follow_but_nobody_twice(market):
    market.committed()
    market.advance(0)
    market.advance(1)
    with market.refused("bought in advance already"):
        market.advance(2, 0)
    with market.refused("bought in advance already"):
        market.advance(2, 2)
    assert market.state().advanced == 2


def test_only_the_acquirer(market):
    market.committed()
    with market.refused("only the acquirer"):
        market.advance(0, account=market.stranger)


def test_only_the_committed(market):
    market.committed()
    with market.refused("provider has not committed"):
        market.advance(providers=[market.stranger.address])


def test_somebody_must_be_named(market):
    market.committed()
    with market.refused("no provider named"):
        market.advance()


def test_not_before_all_have_committed(market):
    market.open()
    market.commit(0)
    market.chain.travel_to(market.state().deadline - 1)
    with market.refused("commitments are still open"):
        market.advance(0)
    market.chain.travel(2)
    market.advance(0)


def test_not_after_the_prepare_window(market):
    market.committed()
    market.chain.travel_to(market.state().deadline + market.window)
    with market.refused("too late"):
        market.advance(0)


def test_not_once_prepared(market):
    market.prepared()
    with market.refused("wrong phase"):
        market.advance(0)


def test_the_call_brings_exactly_the_fees(market):
    market.committed()
    call = market.trading.contract.functions.buy_advance(1, market.names[:2])
    for value in (2 * market.fee - 1, 2 * market.fee + 1):
        with market.refused("value is not the amount"):
            market.chain.send(call, account=market.acquirer, value=value)


def test_may_be_given_weight_as_well(market):
    market.committed()
    market.advance(0)
    market.prepare({0: 65_536})
    market.publish()
    market.pass_deadline()
    assert market.claim(market.providers[0]) == market.state().reward // 65_536 * 65_536 + market.fee


def test_fee_is_no_part_of_the_reward(market):
    market.committed()
    reward = market.state().reward
    market.advance(2)
    market.prepare({0: 65_536})
    market.publish()
    market.pass_deadline()
    assert market.claim(market.providers[0]) == reward // 65_536 * 65_536
    assert market.claim(market.providers[2]) == market.fee


def test_free_advance_purchase(make_market):
    market = make_market(advance_fee=0)
    market.committed()
    market.advance(0)
    assert market.standing(0).advance
