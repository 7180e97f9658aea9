"""claim_rewards: anybody has providers paid; who cannot be paid is skipped and may be claimed for again."""

from dataclasses import replace

import pytest

from martfl.chain.events import Claimed
from martfl.chain.state import MAX_PROVIDERS, SaleState, SignedClaim

PLACE = "0x" + "ab" * 20
TAKE, AGAIN, REFUSE, BURN = range(4)


def paid(done) -> list[str]:
    return [event.provider for event in done.events if isinstance(event, Claimed)]


def test_everybody_at_its_own_address(market):
    market.settled()
    dues = [market.standing(i).claimable for i in range(3)]
    before = [market.chain.balance(seller.name) for seller in market.sellers]
    done = market.claim_for(0, 1, 2)
    expected = [
        Claimed(epoch=1, provider=seller.name, receiver=seller.name, amount=due)
        for seller, due in zip(market.sellers, dues, strict=True)
    ]
    assert done.events == tuple(expected)
    after = [market.chain.balance(seller.name) for seller in market.sellers]
    assert [b - a for a, b in zip(before, after, strict=True)] == dues
    assert market.held() == market.state().refundable


def test_where_a_provider_signed_to_be_paid(market):
    market.settled()
    due = market.standing(0).claimable
    done = market.claim_for(payees=[market.signed_claim(0, PLACE)])
    assert done.events == (Claimed(epoch=1, provider=market.sellers[0].name, receiver=PLACE_SUM, amount=due),)
    assert market.chain.balance(PLACE) == due


PLACE_SUM = "0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB"


def test_once_whoever_comes_first(market):
    market.settled()
    market.claim(market.sellers[0].account)
    assert paid(market.claim_for(0, 1, 1)) == [market.sellers[1].name]
    assert paid(market.claim_for(0, 1)) == []
    with market.refused("nothing to claim"):
        market.claim(market.sellers[1].account)


def test_nobody_is_paid_elsewhere_without_its_word(market):
    market.settled()
    good, other = market.signed_claim(0, PLACE), market.signed_claim(1, PLACE)
    thief = market.stranger.address
    forged = [
        replace(good, receiver=thief),
        replace(good, signature=other.signature),
        replace(good, provider=market.sellers[1].name),
        replace(good, signature=b""),
        replace(good, signature=bytes(65)),
        market.signed_claim(0, PLACE, epoch=2),
        market.signed_claim(0, PLACE, chain_id=1),
        market.signed_claim(0, PLACE, market=thief),
        SignedClaim(provider=good.provider, receiver=thief, signature=market.signed(0).signature),
    ]
    assert paid(market.claim_for(payees=forged)) == []
    assert market.chain.balance(PLACE) == 0
    assert paid(market.claim_for(payees=[*forged, good])) == [market.sellers[0].name]


def test_signature_of_one_epoch_pays_no_other(market):
    market.settled({0: 65_536})
    old = market.signed_claim(0, PLACE)
    market.claim_for(payees=[old])
    market.settled({0: 65_536})
    assert paid(market.claim_for(payees=[old])) == []
    assert market.standing(0).claimable > 0


def test_who_is_owed_nothing_is_skipped(market):
    market.bought(0, 1)
    market.publish({0: 65_536})
    market.after("keys")
    names = [market.sellers[1].name, market.sellers[2].name, market.stranger.address, market.acquirer.address]
    payees = [SignedClaim(provider=name) for name in (*names, "0x" + "00" * 20)]
    assert paid(market.claim_for(payees=payees)) == []
    assert paid(market.claim_for(payees=[*payees, SignedClaim(provider=market.sellers[0].name)])) == [
        market.sellers[0].name
    ]


def test_not_before_the_end(market):
    market.bought()
    with market.refused("epoch is not final"):
        market.claim_for(0)
    market.publish({0: 65_536})
    with market.refused("epoch is not final"):
        market.claim_for(0)


@pytest.fixture
def sell_by_contract(market, helper):
    """A settled epoch in which a contract sold beside the others."""

    def run(mode: int):
        contract = helper("claimant", market.trading.address, mode)
        market.open()
        market.relay()
        offer = replace(market.sellers[0].offer, provider=contract.address)
        market.chain.send(contract.functions.commit(1, market.digest_of(offer)), account=market.stranger)
        market.after("commit")
        market.buy(offers=[offer, *(seller.offer for seller in market.sellers)])
        market.accept(providers=[contract.address, *(seller.name for seller in market.sellers)])
        market.publish({})
        return contract

    return run


def payees_with(market, contract) -> list[SignedClaim]:
    return [SignedClaim(provider=contract.address), *(SignedClaim(provider=s.name) for s in market.sellers)]


def test_receiver_that_comes_back_is_paid_once(market, sell_by_contract):
    contract = sell_by_contract(AGAIN)
    due = market.trading.read_provider(1, contract.address).claimable
    done = market.claim_for(payees=payees_with(market, contract))
    assert paid(done) == [contract.address, *(seller.name for seller in market.sellers)]
    assert market.chain.balance(contract.address) == due
    assert contract.functions.again().call() == 2
    assert not contract.functions.gained().call()


@pytest.mark.parametrize("mode", [REFUSE, BURN])
def test_receiver_that_refuses_or_burns_gas_harms_nobody_else(market, sell_by_contract, mode):
    contract = sell_by_contract(mode)
    done = market.claim_for(payees=payees_with(market, contract))
    assert paid(done) == [seller.name for seller in market.sellers]
    assert done.gas < 500_000
    standing = market.trading.read_provider(1, contract.address)
    assert standing.state == SaleState.ACCEPTED
    market.claim(market.acquirer)
    assert market.held() == standing.claimable > 0
    market.chain.send(contract.functions.be(TAKE), account=market.stranger)
    assert paid(market.claim_for(payees=payees_with(market, contract))) == [contract.address]
    assert market.held() == 0


def test_too_little_gas_for_a_receiver_leaves_its_claim_open(market):
    market.settled()
    call = market.trading.contract.functions.claim_rewards(1, [(market.sellers[0].name,) * 2 + ((0, 0, 0),)])
    for gas in (30_000, 45_000, 60_000):
        try:
            call.call({"from": market.stranger.address, "gas": gas})
        except Exception as error:
            assert any(text in str(error).lower() for text in ("gas", "revert"))
    assert paid(market.claim_for(0)) == [market.sellers[0].name]


def test_as_many_as_one_transaction_can_carry(make_market):
    market = make_market(providers=MAX_PROVIDERS)
    market.bought()
    market.accept(*range(MAX_PROVIDERS))
    market.publish({})
    done = market.claim_for(*range(MAX_PROVIDERS))
    assert len(paid(done)) == MAX_PROVIDERS
    assert done.gas < 16_000_000
    market.claim(market.acquirer)
    assert market.held() == 0
