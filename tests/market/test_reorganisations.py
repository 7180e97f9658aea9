"""Blocks that are undone: no key is given for what may vanish, and what vanished is done again in time."""

import pytest
from fuse import Fuse, FusedChain

from martfl.chain import events as ev
from martfl.chain.state import Phase, SaleState
from martfl.market import guard
from martfl.market import messages as ms
from martfl.market.errors import MarketError


def refused(hand, message, words):
    answer = hand.say(message)
    assert isinstance(answer, ms.Refusal) and words in answer.reason, answer
    return True


def key_request(hand):
    return ms.KeyRequest(epoch=1, key=hand.sealing.public.hex())


class Buried(FusedChain):
    """A chain of which the last two blocks do not count yet."""

    def deep_block(self):
        return max(0, self.web3.eth.block_number - 2)

    def bury(self):
        for _ in range(2):
            self.travel(1)


@pytest.fixture
def buried(build, kit, tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "PATIENCE", 0.0)
    chain = Buried(tmp_path / "chain.sqlite", 3, Fuse(parties=("nobody",)))
    hand = kit.Hand(build(providers=2, chain=chain))
    hand.open()
    hand.relay(hand.train())
    chain.bury()
    yield hand
    chain.close()


@pytest.fixture
def closed(buried):
    """Commitments are closed, deep in the chain."""
    chain = buried.market.chain
    chain.travel_to(buried.market.times().commit + 1)
    chain.bury()
    return buried


def test_nothing_is_shown_while_the_end_of_commitments_may_be_undone(buried):
    chain = buried.market.chain
    chain.travel_to(buried.market.times().commit + 1)
    assert refused(buried, ms.OfferRequest(epoch=1), "not closed yet")
    chain.bury()
    assert isinstance(buried.say(ms.OfferRequest(epoch=1)), ms.Offered)


def test_no_key_is_given_for_a_purchase_that_may_be_undone(closed):
    chain = closed.market.chain
    before = chain.snapshot()
    closed.buy(0)
    assert refused(closed, key_request(closed), "not deep enough")
    chain.revert(before)  # the purchase is gone, and nothing was given for it
    chain.bury()
    assert refused(closed, key_request(closed), "nothing was bought")
    closed.buy(0)
    chain.bury()
    assert isinstance(closed.ask_key(0), bytes)


def test_a_request_waits_while_a_purchase_is_being_buried(closed, monkeypatch):
    chain = closed.market.chain
    closed.buy(0)
    monkeypatch.setattr(guard, "PATIENCE", 600.0)
    monkeypatch.setattr(guard.time, "sleep", lambda seconds: chain.travel(1))
    assert isinstance(closed.ask_key(0), bytes)


def test_no_key_goes_on_chain_for_a_purchase_that_may_be_undone(closed):
    """Bought in the last second of a chain that then stood still until the margin began."""
    market, chain = closed.market, closed.market.chain
    offers = [closed.offer(0)]
    chain.travel_to(market.times().buy - 1)
    before = chain.snapshot()
    market.trading.buy(1, offers=offers, account=market.buyer)
    chain.travel_to(market.times().keys - market.terms.deadlines.margin)
    market.providers[0].watch()
    assert market.events(ev.Revealed, 1) == []
    chain.revert(before)
    chain.travel_to(market.times().keys - market.terms.deadlines.margin)
    market.providers[0].watch()
    assert market.events(ev.Revealed, 1) == []  # it never was bought, and its key was never seen


def test_an_acceptance_that_is_undone_is_answered_by_the_key(closed):
    market, chain = closed.market, closed.market.chain
    closed.buy(0)
    chain.bury()
    assert isinstance(closed.ask_key(0), bytes)
    chain.travel_to(market.times().keys - market.terms.deadlines.margin - 2)
    before = chain.snapshot()
    market.trading.accept(1, providers=[market.names[0]], account=market.buyer)
    chain.travel(5)
    market.providers[0].watch()
    assert market.events(ev.Revealed, 1) == []
    chain.revert(before)
    chain.travel(5)
    market.providers[0].watch()
    assert market.state(0) is SaleState.REVEALED


def test_a_relayed_commitment_that_is_undone_is_sent_by_its_seller(build, kit, tmp_path):
    chain = Buried(tmp_path / "chain.sqlite", 2, Fuse(parties=("nobody",)))
    market = build(providers=1, chain=chain)
    hand = kit.Hand(market)
    hand.open()
    signed = hand.train()
    before = chain.snapshot()
    hand.relay(signed)
    market.providers[0].watch()
    chain.revert(before)
    chain.travel_to(market.times().commit - market.terms.deadlines.margin)
    market.providers[0].watch()
    assert [event.provider for event in market.events(ev.ModelCommitted, 1)] == market.names
    chain.close()


def test_an_end_that_may_be_undone_is_not_taken_for_one(closed):
    """An empty epoch is not forgotten before it is empty for good: a purchase of the last second may still count."""
    market, chain = closed.market, closed.market.chain
    offers = [closed.offer(0)]
    chain.travel_to(market.times().buy - 1)
    before = chain.snapshot()
    chain.travel_to(market.times().buy + 1)
    assert market.trading.read_epoch(1).phase is Phase.EMPTY
    market.watch()
    with pytest.raises(MarketError, match="not final yet"):
        market.providers[0].claim(1)
    chain.revert(before)
    market.trading.buy(1, offers=offers, account=market.buyer)
    chain.bury()
    assert isinstance(closed.ask_key(0), bytes)
