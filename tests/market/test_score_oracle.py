"""Scores as an oracle about updates that nobody buys: so many, and no more, whatever the buyer does in between."""

import numpy as np
import pytest

from martfl.chain.state import WHOLE, Phase
from martfl.market import messages as ms
from martfl.scoring import scorer

LIMIT = 6
TERMS = {"scoring": {"scheme": "plain", "sketch": 0, "baselines": 4, "answers": LIMIT}}


@pytest.fixture
def hand(build, kit):
    """The acquirer's wallet in a market of two sellers; the second is its own."""
    return kit.Hand(build(providers=2, terms=TERMS))


def ask_all(hand, epoch, i=0):
    """One-hot baselines, as many as the terms allow; how many were answered."""
    given = 0
    for number in range(4):
        body = scorer("plain").generate().encrypt_baseline(np.eye(170)[4 * epoch + number])
        given += isinstance(hand.say(ms.ScoreRequest(epoch=epoch, baseline=number, body=body), i), ms.Scored)
    return given


def end(hand, epoch):
    hand.market.travel_to(hand.market.times(epoch).publish + 1)
    hand.market.watch()


def test_by_empty_epochs(hand):
    given = []
    for epoch in range(1, 4):
        hand.begin(epoch)
        given.append(ask_all(hand, epoch))
        end(hand, epoch)
        assert hand.trading.read_epoch(epoch).phase is Phase.EMPTY
    assert given == [4, 2, 0]


def test_by_restarts(hand):
    given = []
    for epoch in range(1, 4):
        hand.begin(epoch)
        hand.market.restart_provider(0)
        given.append(ask_all(hand, epoch))
        hand.market.restart_provider(0)
        assert ask_all(hand, epoch) == 0  # keys are fresh, so these are other baselines of the same numbers
        end(hand, epoch)
    assert given == [4, 2, 0]


def test_by_an_own_wallet_that_moves_the_base(hand):
    """Each epoch starts from another model, and the seller is never bought."""
    given = []
    for epoch in range(1, 4):
        hand.begin(epoch)
        given.append(ask_all(hand, epoch))
        hand.buy(1, epoch=epoch)
        hand.publish({1: WHOLE}, epoch)
        end(hand, epoch)
        assert hand.trading.read_epoch(epoch).phase is Phase.SETTLED
    assert given == [4, 2, 0] and hand.trading.read_epoch(3).base == 2


def test_by_a_second_market_of_the_same_buyer(build, kit, hand, tmp_path):
    """The seller serves both with one count of answers."""
    first = hand.market
    options = {"chain": first.chain, "name": "second", "meters": first.folder}
    second = kit.Hand(build(tmp_path / "second", providers=2, terms=TERMS, **options))
    assert second.trading.address != hand.trading.address
    hand.begin()
    assert ask_all(hand, 1) == 4
    second.begin()
    assert ask_all(second, 1) == 2
    second.buy(0)
    assert isinstance(second.ask_key(0), bytes)  # a sale in one market is a sale
    assert first.providers[0].meter.count(buyer=first.buyer.address) == 0


def test_a_cheap_sale_in_a_second_market_opens_no_dear_one(build, kit, hand, tmp_path):
    first = hand.market
    options = {"chain": first.chain, "name": "second", "meters": first.folder, "asks": {0: 1}}
    cheap = kit.Hand(build(tmp_path / "second", providers=2, terms=TERMS, **options))
    hand.begin()
    assert ask_all(hand, 1) == 4
    cheap.begin()
    cheap.buy(0)
    assert isinstance(cheap.ask_key(0), bytes)
    assert first.providers[0].meter.count(buyer=first.buyer.address) == 4


def test_a_sale_that_is_only_seen_on_chain_counts_as_one(hand):
    """The buyer never asks for the key; the seller reveals it, is paid, and answers again."""
    hand.begin()
    assert ask_all(hand, 1) == 4
    hand.buy(0)
    hand.publish({})
    end(hand, 1)
    assert hand.market.paid(1) == {hand.market.names[0]: hand.market.price(0)}
    assert hand.market.providers[0].meter.count(buyer=hand.market.buyer.address) == 0


def test_buying_one_seller_clears_no_others_count(hand):
    hand.begin()
    assert ask_all(hand, 1, 0) == ask_all(hand, 1, 1) == 4
    hand.buy(1)
    assert isinstance(hand.ask_key(1), bytes)
    counts = [p.meter.count(buyer=hand.market.buyer.address) for p in hand.market.providers]
    assert counts == [4, 0]
