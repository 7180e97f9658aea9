"""commit_model: a provider binds itself to one sealed update of one epoch."""

from dataclasses import replace

import pytest

from martfl.chain.events import ModelCommitted
from martfl.chain.state import SaleState


def test_is_kept_and_announced(market):
    market.open()
    done = market.commit(0)
    name, digest = market.sellers[0].name, market.digest(0)
    assert done.events == (ModelCommitted(epoch=1, provider=name, digest=digest),)
    assert market.standing(0).state == SaleState.COMMITTED
    assert market.trading.commitments(1) == {name: digest}


def test_once_per_provider_and_epoch(market):
    market.open()
    market.commit(0)
    for digest in (market.digest(0), market.digest(1)):
        with market.refused("already committed"):
            market.commit(0, digest=digest)
    market.relay([market.signed(0, digest=market.digest(1))])
    assert market.trading.commitments(1) == {market.sellers[0].name: market.digest(0)}


def test_again_in_the_next_epoch(market):
    market.settled()
    market.open()
    market.commit(0)
    assert market.standing(0).state == SaleState.COMMITTED


def test_anybody_but_the_acquirer(market):
    market.open()
    market.commit(0, account=market.stranger)
    with market.refused("the acquirer cannot sell"):
        market.commit(0, account=market.acquirer)


def test_last_second_counts_and_the_next_does_not(market, to_the_second):
    market.open()
    market.last_second("commit")
    market.commit(0)
    with market.refused("commitments are closed"):
        market.commit(1)


def test_unknown_epoch(market):
    market.open()
    market.epoch = 2
    with market.refused("no such epoch"):
        market.commit(0)


def test_no_work_before_there_is_money(market):
    market.open(999)
    with market.refused("deposit is below the minimum"):
        market.commit(0)
    market.trading.deposit(1, amount=1, account=market.acquirer)
    market.commit(0)


@pytest.mark.parametrize("digest", [bytes(32), b"\xff" * 32])
def test_a_digest_of_any_bits_is_one_commitment(market, digest):
    market.open()
    market.commit(0, digest=digest)
    standing = market.standing(0)
    assert (standing.state, standing.price, standing.weight, standing.claimable) == (SaleState.COMMITTED, 0, 0, 0)
    market.after("commit")
    with market.refused("not the offer that was committed to"):
        market.buy(0)


def test_digest_binds_chain_market_epoch_wallet_and_all_of_the_offer(market):
    offer, other = market.sellers[0].offer, market.sellers[1]
    market.epoch = 1
    digests = {
        market.digest_of(offer),
        market.digest_of(offer, chain_id=1),
        market.digest_of(offer, market=market.stranger.address),
        market.digest_of(offer, epoch=2),
        market.digest_of(replace(offer, provider=other.name)),
        market.digest_of(replace(offer, commitment=other.offer.commitment)),
        market.digest_of(replace(offer, root=other.offer.root)),
        market.digest_of(replace(offer, key_hash=other.offer.key_hash)),
        market.digest_of(replace(offer, ask=offer.ask + 1)),
    }
    assert len(digests) == 9
