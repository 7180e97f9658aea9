"""publish_model: the chain adds the listed commitments to the model's own."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from eth_utils import keccak
from exact_market import model_digest

from martfl.chain.deployment import ExactModel
from martfl.chain.events import ModelPublished
from martfl.chain.state import Listing, Phase, SaleState
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
    assert market.standing_digest() == model_digest(expected)
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
    assert [s.state for s in standings] == [SaleState.LISTED] * 3
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
    assert market.standing_digest() == model_digest(market.initial)
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
