"""publish_model: the chain adds the bought commitments to the model's own."""

import dataclasses

import pytest
from eth_utils import keccak

from martfl.chain.events import ModelPublished
from martfl.chain.state import ExactModel, Phase


def test_adds_up_and_says_so(market, digest):
    market.prepared()
    done = market.publish(blinding=17)
    # 1·G + 40000·2G + 20000·3G + 5536·4G, blindings 5 + 17
    expected = ExactModel(
        content=market.word("model 1"),
        blinding=22,
        point=market.point(1 + 40_000 * 2 + 20_000 * 3 + 5_536 * 4),
    )
    fields = dataclasses.asdict(expected)
    assert done.events == (ModelPublished(epoch=1, **fields),)
    assert market.state().phase == Phase.PUBLISHED
    assert market.state().deadline == market.chain.now() + market.window
    market.pass_deadline()
    assert market.trading.model_digest() == digest(expected)
    assert market.trading.model(1) == expected


def test_model_counts_only_once_settled(market, digest):
    market.published()
    assert market.trading.model_digest() == digest(market.initial)


def test_second_epoch_adds_to_the_first(market):
    market.settled({0: 65_536})
    market.published({1: 65_536})
    assert market.trading.model(2).point == market.point(1 + 65_536 * 2 + 65_536 * 3)
    assert market.trading.model(2).blinding == 5 + 17 + 17


def test_failed_epoch_leaves_the_model_as_it_was(market, digest):
    market.published({0: 65_536})
    market.trading.object(1, account=market.providers[0])
    assert market.trading.model_digest() == digest(market.initial)
    market.settled({1: 65_536})
    assert market.trading.model(2).point == market.point(1 + 65_536 * 3)


def test_without_the_dropped(market):
    market.prepared()
    market.drop(0)
    market.publish()
    assert market.trading.model(1).point == market.point(1 + 20_000 * 3 + 5_536 * 4)


def test_blinding_is_a_scalar_and_wraps(market):
    market.prepared()
    with market.refused("blinding is not below the group order"):
        market.publish(blinding=market.order)
    market.publish(blinding=market.order - 1)
    assert market.trading.model(1).blinding == 4


def test_only_the_acquirer(market):
    market.prepared()
    with market.refused("only the acquirer"):
        market.publish(account=market.providers[0])


def test_once(market):
    market.published()
    with market.refused("wrong phase"):
        market.publish()


def test_not_before_prepare(market):
    market.committed()
    with market.refused("wrong phase"):
        market.publish(bought=[])


def test_last_second_counts_and_the_next_does_not(market):
    market.prepared()
    market.chain.travel_to(market.state().deadline)
    with market.refused("too late"):
        market.publish()


def test_every_bought_provider_is_in(market):
    market.prepared()
    bought = market.trading.bought(1)
    with market.refused("a bought provider is missing"):
        market.publish(bought=bought[:2])
    with market.refused("a bought provider is missing"):
        market.publish(bought=[])


def test_nobody_counts_twice(market):
    market.prepared({0: 32_768, 1: 32_768})
    first = market.trading.bought(1)[0]
    with market.refused("providers must rise"):
        market.publish(bought=[first, first])


@pytest.mark.parametrize("weight", [0, 39_999, 40_000 + 2**17, 2**255, 40_000 | 2**18])
def test_another_weight(market, weight):
    market.prepared()
    first, *rest = market.trading.bought(1)
    with market.refused("not the commitment and weight"):
        market.publish(bought=[dataclasses.replace(first, weight=weight), *rest])


def test_no_bit_of_the_scalar_hides_under_the_digest(market):
    """Any bit that the digest has may be set in the scalar without changing `digest | weight`."""
    market.prepared({0: 32_768, 1: 32_768})
    first, second = market.trading.bought(1)
    digests = [int.from_bytes(keccak(provider.commitment), "big") for provider in (first, second)]
    hidden = 1 << max(bit for bit in range(24, 256) if digests[0] & digests[1] & (1 << bit))
    for twice in (hidden, 2**255):  # where both have bit 255, two of them even vanish from the total
        heavy = [dataclasses.replace(provider, weight=32_768 + twice) for provider in (first, second)]
        with market.refused("not the commitment and weight"):
            market.publish(bought=heavy)


def test_another_commitment(market):
    market.prepared()
    first, *rest = market.trading.bought(1)
    with market.refused("not the commitment and weight"):
        market.publish(bought=[dataclasses.replace(first, commitment=market.point(77)), *rest])


def test_dropped_provider_is_refused(market):
    market.prepared()
    bought = market.trading.bought(1)
    market.drop(0)
    with market.refused("not the commitment and weight"):
        market.publish(bought=bought)


def test_stranger_is_refused(market):
    market.prepared()
    first, *rest = market.trading.bought(1)
    with market.refused("not the commitment and weight"):
        market.publish(bought=[dataclasses.replace(first, provider=market.stranger.address), *rest])


def test_committed_but_not_bought_is_refused(market):
    market.prepared({0: 65_536})
    extra = dataclasses.replace(market.trading.bought(1)[0], provider=market.names[1], commitment=market.point(3))
    for weight in (0, 1):
        with market.refused("not the commitment and weight"):
            market.publish(bought=[*market.trading.bought(1), dataclasses.replace(extra, weight=weight)])


@pytest.mark.parametrize("change", [{"content": bytes(32)}, {"blinding": 6}, {"point": None}])
def test_another_base_model(market, change):
    market.prepared()
    change = {"point": market.point(9)} if "point" in change else change
    with market.refused("not the base model"):
        market.publish(base=dataclasses.replace(market.initial, **change))


def test_base_counts_once(market):
    market.prepared({0: 65_536})
    bought = market.trading.bought(1)
    pairs = market.initial.point + (2).to_bytes(32, "big") + bought[0].pair()
    call = market.trading.contract.functions.publish_model
    with market.refused("scalar of the base must be 1"):
        market.chain.send(
            call(1, bytes(32), 0, market.initial.content, 5, market.names[:1], pairs), account=market.acquirer
        )
    with market.refused("one pair for each provider and the base"):
        market.chain.send(
            call(1, bytes(32), 0, market.initial.content, 5, market.names[:1], pairs + bytes(1)),
            account=market.acquirer,
        )
