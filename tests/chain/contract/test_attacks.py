"""What a cheat would try."""

import pytest

from martfl.chain.network import RevertedError
from martfl.chain.state import MAX_PROVIDERS, Bought

CLAIM_AGAIN, REFUSE = 1, 2


@pytest.fixture
def sell_by_contract(market, helper, chain):
    """A settled epoch in which a contract holds three quarters of the weight and provider 0 the rest."""

    def run(mode: int):
        seller = helper("claimant", market.trading.address, mode)
        market.open()
        market.commit(0)
        chain.send(seller.functions.commit(1, market.point(9)), account=market.stranger)
        market.close_commitments()
        market.prepare(providers=[seller.address, market.names[0]], weights=[49_152, 16_384])
        market.publish()
        market.pass_deadline()
        return seller

    return run


def test_reentrant_claimant_is_paid_once(market, sell_by_contract, chain):
    seller = sell_by_contract(CLAIM_AGAIN)
    chain.send(seller.functions.claim(1), account=market.stranger)
    assert seller.functions.again().call() == 1
    assert not seller.functions.gained().call()
    assert chain.balance(seller.address) == market.state().reward // 65_536 * 49_152
    assert market.claim(market.providers[0]) == market.state().reward // 65_536 * 16_384


def test_claimant_that_refuses_money_harms_itself_only(market, sell_by_contract, chain):
    seller = sell_by_contract(REFUSE)
    with pytest.raises(RevertedError):
        chain.send(seller.functions.claim(1), account=market.stranger)
    paid = market.claim_all()
    assert market.names[0] in paid
    assert market.acquirer.address in paid
    standing = market.trading.read_provider(1, seller.address)
    assert not standing.claimed
    assert market.held() == standing.claimable
    market.open()


def test_copied_commitment_does_not_pay(market):
    # The copier gets ahead of the original, but cannot open what it copied: it is dropped, the original is paid.
    market.open()
    market.commit(1, commitment=market.point(2))
    market.commit(0)
    market.close_commitments()
    market.prepare({0: 32_768, 1: 32_768})
    market.drop(1)
    market.publish()
    market.pass_deadline()
    with market.refused("nothing to claim"):
        market.claim(market.providers[1])
    assert market.claim(market.providers[0]) == market.state().reward // 32_768 * 32_768


def test_copied_commitment_does_not_stand_for_the_original(market):
    market.open()
    market.commit(1, commitment=market.point(2))
    market.close_commitments()
    market.prepare({1: 65_536})
    with market.refused("not the commitment and weight"):
        market.publish(bought=[Bought(provider=market.names[0], commitment=market.point(2), weight=65_536)])


def test_commitment_of_another_epoch_is_refused(market):
    market.settled({0: 65_536})
    old = market.trading.bought(1)
    market.open()
    market.commit(0, commitment=market.point(50))
    market.close_commitments()
    market.prepare({0: 65_536})
    with market.refused("not the commitment and weight"):
        market.publish(bought=old)


def test_publication_replayed_in_the_next_epoch_is_refused(market):
    market.settled({0: 65_536})
    market.prepared({0: 65_536})
    with market.refused("not the base model"):
        market.publish(base=market.initial)


def test_one_provider(make_market):
    market = make_market(providers=1)
    market.settled({0: 65_536})
    paid = market.claim_all()
    assert paid[market.names[0]] == market.state().reward // 65_536 * 65_536
    assert sum(paid.values()) == market.amount


def test_no_provider(make_market):
    market = make_market(providers=0)
    market.committed()
    market.prepare({})
    assert market.claim_all() == {market.acquirer.address: market.amount}


def test_as_many_providers_as_one_transaction_can_carry(make_market):
    market = make_market(providers=MAX_PROVIDERS)
    assert MAX_PROVIDERS >= 100
    market.committed()
    market.prepare(dict.fromkeys(range(MAX_PROVIDERS), 65_536 // MAX_PROVIDERS))
    done = market.publish()
    assert done.gas < 16_000_000  # within the cap that Osaka puts on one transaction
    expected = 1 + sum(512 * (i + 2) for i in range(MAX_PROVIDERS))
    assert market.trading.model(1).point == market.point(expected)
    market.pass_deadline()
    assert market.claim(market.providers[-1]) == market.state().reward // 65_536 * 512


def test_sum_that_is_infinity_is_still_a_model(market):
    # 1·G + 65536·(−1/65536)·G: a legal, if useless, outcome; it must not lock the epoch.
    inverse = pow(65_536, -1, market.order)
    market.open()
    market.commit(0, commitment=market.point(market.order - inverse))
    market.close_commitments()
    market.prepare({0: 65_536})
    market.publish()
    assert market.trading.model(1).point == bytes(128)
    market.pass_deadline()
    market.claim_all()
    assert market.held() == 0
    market.prepared({1: 65_536})
    market.publish()
    assert market.trading.model(2).point == market.point(65_536 * 3)


def test_out_of_gas_changes_nothing(market):
    market.prepared()
    bought = market.trading.bought(1)
    pairs = market.initial.point + (1).to_bytes(32, "big")
    pairs += b"".join(b.pair() for b in sorted(bought, key=lambda b: int(b.provider, 16)))
    named = sorted(market.names, key=lambda name: int(name, 16))
    call = market.trading.contract.functions.publish_model(1, bytes(32), 0, market.initial.content, 5, named, pairs)
    with pytest.raises(Exception, match=r"(?i)points do not add up|gas|revert"):
        call.call({"from": market.acquirer.address, "gas": 75_000})
    market.publish()
