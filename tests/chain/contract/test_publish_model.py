"""publish_model: the chain adds the listed commitments to the model's own."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from eth_utils import keccak
from exact_market import model_digest, shifted
from py_arkworks_bls12381 import Scalar

from martfl.chain.events import ModelPublished
from martfl.chain.state import ExactModel, Listing, Phase, State
from martfl.settlement.exact import Commitment, aggregate, combine, verify_model
from martfl.settlement.exact.generators import blinding_generator

THREE = {0: 40_000, 1: 20_000, 2: 5_536}


def summed(market, base: ExactModel, weights: dict[int, int]) -> bytes:
    """C_base + sum of k_i·C_i, by the settlement's own arithmetic."""
    commitments = [Commitment.from_eip2537(market.sellers[i].offer.commitment) for i in weights]
    return combine(Commitment.from_eip2537(base.point), list(weights.values()), commitments).to_eip2537()


def test_adds_up_and_says_so(market):
    market.bought()
    done = market.publish(THREE)
    expected = ExactModel(
        content=market.word("model 1"),
        blinding=(market.initial.blinding + market.blinding(THREE)) % market.order,
        point=summed(market, market.initial, THREE),
    )
    names = tuple(seller.name for seller in market.sellers)
    assert done.events == (ModelPublished(epoch=1, **asdict(expected), providers=names, weights=tuple(THREE.values())),)
    assert market.trading.model(1) == expected
    assert market.trading.model_digest() == model_digest(expected)
    assert market.state().phase == Phase.SETTLED


def test_the_new_model_opens_what_the_chain_added_up(market):
    market.settled(THREE)
    updates = [seller.update for seller in market.sellers]
    start = np.zeros(market.key.parameters, np.int64)
    model = aggregate(start, list(THREE.values()), updates, layout=market.key.layout)
    posted = market.trading.model(1)
    assert verify_model(model, posted.blinding, Commitment.from_eip2537(posted.point), market.key)


def test_being_listed_says_that_the_provider_delivered(market):
    market.bought()
    market.accept(1)
    market.reveal(2)
    market.publish(THREE)
    standings = [market.standing(i) for i in range(3)]
    assert [s.state for s in standings] == [State.LISTED] * 3
    assert [s.weight for s in standings] == list(THREE.values())
    assert [s.price for s in standings] == [market.price(i) for i in range(3)]
    state = market.state()
    assert (state.bought, state.silent, state.revealed) == (3, 0, 0)
    assert state.delivered == state.spent


def test_second_epoch_adds_to_the_first(market):
    market.settled({0: 65_536})
    market.settled({1: 65_536})
    first = summed(market, market.initial, {0: 65_536})
    assert market.trading.model(2).point == summed(market, replace(market.initial, point=first), {1: 65_536})


def test_failed_epoch_leaves_the_model_as_it_was(market):
    market.bought()
    market.past("publish")
    assert market.trading.model_digest() == model_digest(market.initial)
    market.settled({1: 65_536})
    assert market.trading.model(2).point == summed(market, market.initial, {1: 65_536})


def test_nobody_listed_leaves_the_model_as_it_was(market):
    market.bought()
    with market.refused("without providers the model stays as it is"):
        market.publish({}, blinding=1)
    done = market.publish({}, content=market.word("the same in another file"))
    assert done.event(ModelPublished).providers == ()
    assert market.trading.model(1) == replace(market.initial, content=market.word("the same in another file"))
    assert market.state().phase == Phase.STANDING
    market.past("keys")
    assert market.state().phase == Phase.SETTLED
    assert market.state().refundable == market.amount


def test_blinding_is_a_scalar_and_wraps(market):
    market.bought()
    with market.refused("blinding is not below the group order"):
        market.publish(THREE, blinding=market.order)
    market.publish(THREE, blinding=market.order - 1)
    assert market.trading.model(1).blinding == market.initial.blinding - 1


def test_only_the_acquirer(market):
    market.bought()
    with market.refused("only the acquirer"):
        market.publish(THREE, account=market.sellers[0].account)


def test_once(market):
    market.settled()
    with market.refused("wrong phase"):
        market.publish(base=market.initial)


def test_not_before_anything_is_bought(market):
    market.committed()
    with market.refused("nothing is bought"):
        market.publish({})


def test_not_while_commitments_are_open(market):
    market.open()
    with market.refused("commitments are still open"):
        market.publish({})


def test_unknown_epoch(market):
    market.epoch = 1
    with market.refused("wrong phase"):
        market.publish({}, base=market.initial)


def test_last_second_counts(market, to_the_second):
    market.bought()
    market.last_second("publish")
    market.publish(THREE)


def test_the_next_second_does_not(market, to_the_second):
    market.bought()
    market.after("publish")
    with market.refused("too late"):
        market.publish(THREE)


def test_already_while_others_may_still_be_bought(market):
    market.bought(0)
    market.publish({0: 65_536})
    assert market.state().phase == Phase.SETTLED


@pytest.mark.parametrize("total", [65_535, 65_537, 2 * 65_536])
def test_weights_sum_to_the_whole(market, total):
    market.bought()
    with market.refused("weights must sum to 65536"):
        market.publish({0: total - total // 2, 1: total // 2})


@pytest.mark.parametrize("weight", [0, 65_537, 2**17, 2**255, 2**256 - 1])
def test_a_weight_lies_within_the_whole(market, weight):
    market.bought()
    with market.refused("weight must be 1 to 65536"):
        market.publish({0: 65_536, 1: weight}, blinding=0)


def test_no_bit_of_the_scalar_hides_under_the_digest(market):
    """Scalars of which two vanish from the sum of the weights: k + 2^255 twice."""
    market.bought()
    bound = [int.from_bytes(keccak(s.offer.commitment_hash + s.offer.seal), "big") for s in market.sellers[:2]]
    for bit in (255, 254, 41, *(b for b in range(41, 256) if bound[0] & bound[1] >> b & 1)):
        with market.refused("weight must be 1 to 65536"):
            market.publish({0: 32_768 + 2**bit, 1: 32_768 + 2**bit}, blinding=0)


def test_nobody_counts_twice(market):
    market.bought()
    twice = [Listing(offer=market.sellers[0].offer, weight=32_768)] * 2
    with market.refused("provider cannot be listed"):
        market.publish({}, listings=twice, content=bytes(32))


@pytest.mark.parametrize("who", ["committed", "stranger"])
def test_only_who_was_bought(market, who):
    market.bought(0)
    offer = market.sellers[1].offer
    if who == "stranger":
        offer = replace(offer, provider=market.stranger.address)
    with market.refused("provider cannot be listed"):
        market.publish({}, listings=[Listing(offer=offer, weight=65_536)], content=bytes(32))


@pytest.mark.parametrize("field", ["commitment", "root", "key_hash"])
def test_only_what_was_bought(market, field):
    market.bought()
    mine, other = market.sellers[0].offer, market.sellers[1].offer
    wrong = Listing(offer=replace(mine, **{field: getattr(other, field)}), weight=65_536)
    with market.refused("not the provider's commitment"):
        market.publish({}, listings=[wrong], content=bytes(32))


def test_twin_of_a_commitment_does_not_stand_for_it(market):
    market.bought()
    mine = market.sellers[0].offer
    point = Commitment.from_eip2537(mine.commitment).to_point() + blinding_generator()
    twin = replace(mine, commitment=Commitment.from_point(point).to_eip2537())
    with market.refused("not the provider's commitment"):
        market.publish({}, listings=[Listing(offer=twin, weight=65_536)], content=bytes(32))


@pytest.mark.parametrize("field", ["content", "blinding", "point"])
def test_another_base_model(market, field):
    market.bought()
    value = {"content": bytes(32), "blinding": 6, "point": market.point(9)}[field]
    with market.refused("not the base model"):
        market.publish(THREE, base=replace(market.initial, **{field: value}))


def test_model_of_a_failed_epoch_is_no_base(market):
    market.settled({0: 65_536})
    market.bought()
    with market.refused("not the base model"):
        market.publish(THREE, base=market.initial)


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
    assert market.standing(1).state == State.REFUTED
    spent = market.state().spent
    market.publish(THREE)
    assert market.standing(1).state == State.LISTED
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
        with pytest.raises(Exception, match=r"(?i)points do not add up|gas|revert"):
            call.call({"from": market.acquirer.address, "gas": gas})
    market.publish(THREE)
