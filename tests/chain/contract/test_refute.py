"""refute: one leaf of a revealed update that is not what it was committed to. Exact markets."""

from dataclasses import replace

import pytest
from exact_market import shifted
from web3.exceptions import Web3Exception

from martfl.chain.events import Refuted
from martfl.chain.state import Phase, SaleState
from martfl.settlement.exact import SlotLayout, find_false_leaf

SIZES = [1, 5, 6, 7, 1535, 1536, 1537, 3000]
LAYOUTS = {
    "8 bits": SlotLayout(bits=8),
    "12 bits": SlotLayout(bits=12),
    "24 bits": SlotLayout(bits=24, epochs=1000, initial_bound=1 << 40),
    "32 bits": SlotLayout(bits=32, epochs=100, initial_bound=1 << 50),
}


def revealed(market, *indices: int) -> None:
    market.bought()
    for i in indices or range(len(market.sellers)):
        market.reveal(i)


@pytest.mark.parametrize("parameters", SIZES)
def test_false_leaf_takes_the_price_back(make_market, parameters):
    market = make_market(parameters=parameters, providers=2)
    last = -(-parameters // 1536) - 1
    market.lies(0, leaf=last)
    assert market.false_leaf(0) == last
    revealed(market)
    before = market.state()
    done = market.refute(0, last)
    assert done.events == (Refuted(epoch=1, provider=market.sellers[0].name, leaf=last),)
    assert market.standing(0).state == SaleState.REFUTED
    after = market.state()
    assert (after.revealed, after.delivered) == (1, before.delivered - market.price(0))
    market.after("publish")
    with market.refused("nothing to claim"):
        market.claim(market.sellers[0].account)
    assert market.claim(market.sellers[1].account) == market.price(1)
    market.claim(market.acquirer)
    assert market.held() == after.penalty


@pytest.mark.parametrize("parameters", SIZES)
def test_no_leaf_of_an_honest_update(make_market, parameters):
    market = make_market(parameters=parameters, providers=1)
    revealed(market)
    for leaf in range(-(-parameters // 1536)):
        with market.refused("leaf is sound"):
            market.refute(0, leaf)
    assert market.standing(0).state == SaleState.REVEALED


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("scalars", [1, 2, 257])
def test_values_of_every_width(make_market, layout, scalars):
    slots = LAYOUTS[layout]
    parameters = slots.slots * (scalars - 1) + 1
    market = make_market(parameters=parameters, layout=slots, providers=2)
    last = (scalars - 1) // 256
    market.lies(0, leaf=last)
    revealed(market)
    with market.refused("leaf is sound"):
        market.refute(1, last)
    market.refute(0, last)


def test_other_leaves_of_a_false_update_are_sound(make_market):
    market = make_market(parameters=3000, providers=1)
    market.lies(0, leaf=1)
    revealed(market)
    with market.refused("leaf is sound"):
        market.refute(0, 0)
    market.refute(0, 1)


@pytest.mark.parametrize("leaf", [0, 1])
def test_parts_that_add_up_but_are_false(make_market, leaf):
    market = make_market(parameters=1537, providers=1)
    market.lies(0, shifted)
    seller = market.sellers[0]
    assert find_false_leaf(seller.body, seller.secret, market.key) == 0
    revealed(market)
    market.refute(0, leaf)


def forgeries(market, index: int) -> dict[str, tuple]:
    """Changed refutations of seller number `index`, two leaves, and what the contract says."""
    good, other = market.refutation(index, 0), market.refutation(index, 1)
    stranger = market.refutation(1 - index, 0)
    flipped = bytes([good.sealed[0] ^ 1]) + good.sealed[1:]
    reordered = good.pairs[:160] + good.pairs[320:480] + good.pairs[160:320] + good.pairs[480:]
    return {
        "no such leaf": (replace(good, index=2), "no such leaf"),
        "a number beyond the tree": (replace(good, index=2**255), "no such leaf"),
        "another leaf's number": (replace(good, index=1), "leaf has another length"),
        "no path": (replace(good, path=()), "path has another length than the tree"),
        "no path of generators": (replace(good, generators=()), "path has another length than the tree"),
        "longer path": (replace(good, path=(*good.path, bytes(32))), "path has another length than the tree"),
        "short part": (replace(good, part=good.part[:-1]), "point is not 128 bytes"),
        "no part": (replace(good, part=b""), "point is not 128 bytes"),
        "a word more": (replace(good, sealed=good.sealed + bytes(32)), "leaf has another length"),
        "a word less": (replace(good, sealed=good.sealed[:-32]), "leaf has another length"),
        "another leaf's bytes": (replace(good, sealed=other.sealed), "leaf has another length"),
        "a pair less": (replace(good, pairs=good.pairs[:-160]), "one pair for each scalar and the blinding"),
        "a pair more": (replace(other, pairs=other.pairs + bytes(160)), "one pair for each scalar and the blinding"),
        "half a pair": (replace(other, pairs=other.pairs + bytes(1)), "one pair for each scalar and the blinding"),
        "another H": (replace(good, pairs=good.pairs[160:288] + good.pairs[128:]), "not the generator of blindings"),
        "another blinding": (replace(good, pairs=changed(good.pairs, 159)), "not the blinding"),
        "blinding beyond the order": (replace(good, pairs=beyond(market, good.pairs)), "not the blinding"),
        "another scalar": (replace(good, pairs=changed(good.pairs, 319)), "not the leaf's scalar"),
        "generators in another order": (replace(good, pairs=reordered), "not the leaf's scalar"),
        "a false generator": (replace(good, pairs=changed(good.pairs, 287)), "not the generators"),
        "another leaf's generators": (replace(good, generators=(bytes(32),)), "not the generators"),
        "another sealed byte": (replace(good, sealed=flipped), "not the leaf's scalar"),
        "another key": (replace(good, secret=stranger.secret), "not the blinding"),
    }


def changed(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def beyond(market, pairs: bytes) -> bytes:
    scalar = int.from_bytes(pairs[128:160], "big") + market.order
    return pairs[:128] + (scalar % 2**256).to_bytes(32, "big") + pairs[160:]


@pytest.fixture
def two_leaves(make_market):
    """Seller 0 is honest, seller 1 false in its first leaf; both have revealed."""
    market = make_market(parameters=1537, providers=2)
    market.lies(1)
    revealed(market)
    return market


@pytest.mark.parametrize("index", [0, 1], ids=["honest", "false"])
def test_forged_refutations_are_refused(two_leaves, index):
    for kind, (forged, reason) in forgeries(two_leaves, index).items():
        with two_leaves.refused(reason):
            two_leaves.refute(index, refutation=forged)
            pytest.fail(kind)
    assert two_leaves.standing(index).state == SaleState.REVEALED


def test_false_leaf_of_somebody_else_does_not_serve(two_leaves):
    false = two_leaves.refutation(1, 0)
    with two_leaves.refused("not the provider's update"):
        two_leaves.refute(0, refutation=false)
    with two_leaves.refused("not the provider's update"):
        two_leaves.refute(1, refutation=false, offer=replace(two_leaves.sellers[1].offer, commitment=bytes(128)))
    with two_leaves.refused("not the provider's update"):
        two_leaves.refute(1, refutation=replace(false, path=(bytes(32),)))
    two_leaves.refute(1, refutation=false)


def test_another_part_is_false_but_not_the_providers(two_leaves):
    """An honest seller's leaf with another point beside it: false, and under another root."""
    good, other = two_leaves.refutation(0, 0), two_leaves.refutation(1, 0)
    for part in (other.part, bytes(128), good.part[64:] + good.part[:64]):
        with two_leaves.refused("not the provider's update"):
            two_leaves.refute(0, refutation=replace(good, part=part))


def test_filling_beyond_the_leaf_does_not_matter(make_market):
    """7 values of 2 bytes fill a word up with 18 bytes that nobody committed to."""
    market = make_market(providers=2)
    market.lies(1)
    revealed(market)
    for i, reason in ((0, "leaf is sound"), (1, None)):
        filled = replace(market.refutation(i), sealed=market.refutation(i).sealed[:14] + b"\xff" * 18)
        if reason:
            with market.refused(reason):
                market.refute(i, refutation=filled)
        else:
            market.refute(i, refutation=filled)


@pytest.mark.parametrize("state", ["committed", "bought", "accepted", "listed", "refuted"])
def test_only_who_has_revealed(market, state):
    market.lies(0)
    market.committed()
    steps = {
        "committed": [],
        "bought": [lambda: market.buy(0)],
        "accepted": [lambda: market.buy(0), lambda: market.reveal(0), lambda: market.accept(0)],
        "listed": [lambda: market.buy(0), lambda: market.reveal(0), lambda: market.publish({0: 65_536})],
        "refuted": [lambda: market.buy(0), lambda: market.reveal(0), lambda: market.refute(0)],
    }
    for step in steps[state]:
        step()
    with market.refused("provider has not revealed"):
        market.refute(0)


def test_not_after_the_claim(market):
    market.lies(0)
    revealed(market, 0)
    market.after("publish")
    market.claim(market.sellers[0].account)
    with market.refused("provider has not revealed"):
        market.refute(0)


def test_in_the_last_second_and_not_in_the_next(market, to_the_second):
    market.lies(0)
    market.lies(1)
    revealed(market)
    market.last_second("publish")
    market.refute(0)
    with market.refused("too late"):
        market.refute(1)


def test_also_after_publication_and_then_the_epoch_is_settled(market):
    market.lies(0)
    market.bought()
    market.publish({1: 32_768, 2: 32_768})
    market.reveal(0)
    assert market.state().phase == Phase.STANDING
    market.refute(0)
    assert market.state().phase == Phase.SETTLED
    paid = market.claim_all()
    assert market.sellers[0].name not in paid
    assert sum(paid.values()) == market.amount


def test_with_too_little_gas_nobody_is_refuted(market):
    revealed(market)
    good = market.refutation(0)
    leaf = (good.index, good.sealed, good.part, list(good.path), good.pairs, list(good.generators))
    call = market.trading.contract.functions.refute(
        1, market.sellers[0].name, market.sellers[0].offer.commitment_hash, good.secret, leaf
    )
    for gas in range(60_000, 400_000, 30_000):
        with pytest.raises(Web3Exception, match=r"(?i)gas|revert|add up|sound"):
            call.call({"from": market.stranger.address, "gas": gas})


def test_largest_leaf_fits_into_a_transaction(make_market):
    market = make_market(parameters=3000, providers=1)
    market.lies(0, leaf=0)
    revealed(market)
    assert market.refute(0, 0).gas < 16_000_000
