"""read_epoch and the other views."""

import pytest
from web3.exceptions import Web3Exception

from martfl.chain.network import ChainError
from martfl.chain.state import Phase


def test_unknown_epoch(market):
    with pytest.raises((Web3Exception, ChainError), match="no such epoch"):
        market.trading.read_epoch(1)


def test_phase_follows_the_protocol(market):
    seen = []
    for step in (market.open, market.close_commitments, lambda: market.prepare({}), lambda: market.epoch):
        step()
        seen.append(market.state().phase)
    assert seen == [Phase.OPEN, Phase.OPEN, Phase.EMPTY, Phase.EMPTY]


def test_published_epoch_reads_as_settled_once_its_window_has_passed(market):
    market.published()
    market.chain.travel_to(market.state().deadline)
    assert market.state().phase == Phase.PUBLISHED
    market.chain.travel(1)
    assert market.state().phase == Phase.SETTLED


def test_provider_without_part_in_it(market):
    market.open()
    standing = market.trading.read_provider(1, market.stranger.address)
    assert not standing.committed
    assert (standing.weight, standing.claimable) == (0, 0)


def test_bought_is_read_from_events(market):
    market.prepared({2: 5_536, 0: 60_000})
    market.drop(2)
    (only,) = market.trading.bought(1)
    assert (only.provider, only.weight, only.commitment) == (market.names[0], 60_000, market.point(2))
