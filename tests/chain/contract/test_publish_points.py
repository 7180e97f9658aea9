"""publish_model at its edges: points that are none, a sum at infinity, too little gas."""

from dataclasses import replace

import pytest
from exact_market import shifted
from py_arkworks_bls12381 import Scalar
from web3.exceptions import Web3Exception

from martfl.chain.state import SaleState
from martfl.settlement.exact import Commitment

THREE = {0: 40_000, 1: 20_000, 2: 5_536}


def test_base_counts_once_and_pairs_are_whole(market):
    market.bought()
    seller, base = market.sellers[0], (market.initial.content, market.initial.blinding)
    pair = seller.offer.commitment + (65_536).to_bytes(32, "big")

    def publish(scalar: int, rest: bytes, seals: int = 1):
        pairs = market.initial.point + scalar.to_bytes(32, "big") + rest
        values = (1, bytes(32), 0, base, [seller.name], [seller.offer.seal] * seals, pairs)
        market.chain.send(market.trading.contract.functions.publish_model(*values), account=market.acquirer)

    for scalar in (0, 2, market.order + 1, 2**255 + 1):
        with market.refused("scalar of the base must be 1"):
            publish(scalar, pair)
    for rest in (pair + bytes(1), pair[:-1], pair * 2, b""):
        with market.refused("one pair for each provider and the base"):
            publish(1, rest)
    for seals in (0, 2):
        with market.refused("one seal for each provider"):
            publish(1, pair, seals)
    publish(1, pair)


@pytest.mark.parametrize("bad", ["off the curve", "off the group", "infinity"])
def test_commitment_that_is_no_point(market, bad):
    """Nobody has to buy one; who does cannot list it, and publishes without."""
    p = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
    x = 1
    while pow(y := pow((x**3 + 4) % p, (p + 1) // 4, p), 2, p) != (x**3 + 4) % p:
        x += 1
    point = {
        "off the curve": b"\1" * 128,
        "off the group": x.to_bytes(64, "big") + y.to_bytes(64, "big"),
        "infinity": bytes(128),
    }[bad]
    seller = market.sellers[0]
    market.sellers[0] = replace(seller, offer=replace(seller.offer, commitment=point))
    market.bought()
    if bad == "infinity":  # zero is a legal update
        market.publish({0: 65_536}, blinding=0)
        assert market.trading.model(1).point == market.initial.point
        return
    with market.refused("points do not add up"):
        market.publish({0: 32_768, 1: 32_768}, blinding=0)
    market.publish({1: 65_536})


def test_sum_that_is_infinity_is_still_a_model(market):
    """A legal, if useless, outcome: it must not lock the epochs after it."""
    seller, base = market.sellers[0], Commitment.from_eip2537(market.initial.point).to_point()
    factor = Scalar.from_le_bytes((-pow(65_536, -1, market.order) % market.order).to_bytes(32, "little"))
    point = Commitment.from_point(base * factor).to_eip2537()
    market.sellers[0] = replace(seller, offer=replace(seller.offer, commitment=point))
    market.settled({0: 65_536})
    assert market.trading.model(1).point == bytes(128)
    market.settled({1: 65_536})
    assert market.trading.model(2).point != bytes(128)


def test_who_refutes_itself_cannot_stop_a_publication(make_market):
    """Two false parts that add up: the update opens as a whole, and any of its leaves can be refuted."""
    market = make_market(parameters=1537)
    market.lies(1, shifted)
    market.bought()
    market.reveal(1)
    market.refute(1)
    assert market.standing(1).state == SaleState.REFUTED
    spent = market.state().spent
    market.publish(THREE)
    assert market.standing(1).state == SaleState.LISTED
    assert market.state().delivered == spent
    assert sum(market.claim_all().values()) == market.amount
    assert market.held() == 0


def test_out_of_gas_changes_nothing(market):
    market.bought()
    pairs = market.initial.point + (1).to_bytes(32, "big")
    pairs += b"".join(s.offer.commitment + THREE[i].to_bytes(32, "big") for i, s in enumerate(market.sellers))
    names, seals = [s.name for s in market.sellers], [s.offer.seal for s in market.sellers]
    base = (market.initial.content, market.initial.blinding)
    call = market.trading.contract.functions.publish_model(1, bytes(32), 0, base, names, seals, pairs)
    for gas in (60_000, 80_000, 100_000):
        with pytest.raises(Web3Exception, match=r"(?i)points do not add up|gas|revert"):
            call.call({"from": market.acquirer.address, "gas": gas})
    market.publish(THREE)
