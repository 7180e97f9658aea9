"""publish_model, sampled: the new model's root and who is in it, before the samples can be known."""

from dataclasses import replace

import pytest
from eth_utils import keccak
from sampled_market import model_tree

from martfl.chain.events import RootPublished
from martfl.chain.network import RevertedError
from martfl.chain.state import Listing, Phase, SaleState

TWO = {2: 30_000, 0: 35_536}


def test_keeps_root_and_slots_and_says_so(market):
    market.bought()
    done = market.publish(TWO)
    names = tuple(market.sellers[i].name for i in TWO)
    nonces = bytes(32)
    for i in TWO:
        nonces = keccak(nonces + market.sellers[i].offer.seal)
    assert done.events == (
        RootPublished(
            epoch=1,
            content=market.word("file"),
            root=market.new.root,
            nonces=nonces,
            providers=names,
            weights=tuple(TWO.values()),
        ),
    )
    about = market.trading.publication(1)
    assert (about.number, about.nonces) == (done.receipt.block, nonces)
    assert (about.base, about.next) == (market.old.root, market.new.root)
    state = market.state()
    assert (state.phase, state.deadline) == (Phase.PUBLISHED, market.chain.now() + market.window)
    assert [market.standing(i).state for i in range(3)] == [SaleState.LISTED, SaleState.BOUGHT, SaleState.LISTED]


def test_only_the_acquirer_and_once(market):
    market.bought()
    with market.refused("only the acquirer"):
        market.publish(account=market.stranger)
    market.publish()
    with market.refused("wrong phase"):
        market.publish()


def test_no_more_than_the_circuits_slots(make_market):
    market = make_market(providers=4)
    market.bought()
    with market.refused("more providers than slots"):
        market.publish(dict.fromkeys(range(4), 16_384))
    market.publish(dict.fromkeys(range(3), 21_845) | {0: 21_846})


@pytest.mark.parametrize("weight", [0, 65_537, 2**255])
def test_no_slot_of_no_weight(market, weight):
    market.bought()
    listings = [*market.listings({0: 65_536}), Listing(offer=market.sellers[1].offer, weight=weight)]
    with market.refused("weight must be 1 to 65536"):
        market.publish({0: 65_536}, listings=listings)


@pytest.mark.parametrize("field", ["commitment", "root", "key_hash"])
def test_only_what_was_bought(market, field):
    market.bought()
    mine, other = market.sellers[0].offer, market.sellers[1].offer
    wrong = Listing(offer=replace(mine, **{field: getattr(other, field)}), weight=65_536)
    with market.refused("not the provider's commitment"):
        market.publish({0: 65_536}, listings=[wrong])


def test_nobody_listed_leaves_the_model_as_it_was_and_needs_no_proof(market):
    market.bought()
    with market.refused("without providers the model stays as it is"):
        market.publish({}, root=market.word("other"))
    market.publish({})
    assert market.state().phase == Phase.STANDING
    with pytest.raises(RevertedError, match="wrong phase"):
        market.trading.publication(1)
    market.past("keys")
    assert market.claim_all() == {market.acquirer.address: market.amount}


def test_model_counts_only_once_it_stands(market):
    market.with_inputs()
    first, second = market.old.root, market.new.root
    assert market.standing_digest() == first
    market.verify()
    assert market.standing_digest() == first
    market.pass_deadline()
    assert market.standing_digest() == second


def test_no_proof_in_time_fails_the_epoch(market, to_the_second):
    market.published()
    market.next_at(market.state().deadline)
    with market.refused("previous epoch is not over"):
        market.chain.send(market.trading.contract.functions.new_epoch(0), account=market.acquirer)
    market.pass_deadline()
    assert market.state().phase == Phase.FAILED  # all are listed: nobody is waited for
    paid = market.claim_all()
    assert {market.sellers[i].name: market.price(i) for i in range(3)}.items() <= paid.items()
    assert market.held() == market.state().penalty
    assert market.open() == 2
    assert (market.state().base, market.standing_digest()) == (0, market.old.root)


def test_a_failed_proof_waits_for_keys_that_may_come(market):
    market.bought()
    market.publish({0: 65_536})
    market.pass_deadline()
    assert market.state().phase == Phase.FAILING
    with market.refused("epoch is not final"):
        market.claim(market.sellers[0].account)
    market.open(5_000)  # the next epoch need not wait
    market.epoch = 1
    market.reveal(1)
    market.past("publish")
    assert market.state().phase == Phase.FAILED
    paid = market.claim_all()
    assert market.sellers[2].name not in paid
    assert [paid[market.sellers[i].name] for i in (0, 1)] == [market.price(0), market.price(1)]
    assert market.held() == market.state().penalty + 5_000


def test_next_epoch_starts_from_the_new_root(market):
    market.settled()
    market.bought()
    market.publish()
    assert market.trading.publication(2).base == model_tree(market.model).root
    assert market.state().base == 1
