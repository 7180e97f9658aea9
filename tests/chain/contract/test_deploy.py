"""Terms are fixed when the contract is made, readable by anybody, and checked."""

import pytest

from martfl.chain.network import ChainError, RevertedError
from martfl.chain.state import ExactModel
from martfl.chain.trading import Trading
from martfl.errors import InputError


def test_terms_are_readable_as_given(market):
    posted = market.trading.terms()
    for name in ("acquirer", "commit_window", "advance_fee", "penalty_ratio", "minimum_deposit", "terms_hash", "token"):
        assert getattr(posted, name) == getattr(market.terms, name)
    assert posted.scheme == "exact"


def test_initial_model_is_announced_and_kept(market, digest):
    assert market.trading.model(0) == market.initial
    assert market.trading.model_digest() == digest(market.initial)


def test_client_finds_the_scheme_of_an_address(market):
    assert Trading(market.chain, market.trading.address).scheme == "exact"


def test_client_refuses_an_address_without_contract(market):
    with pytest.raises(ChainError, match="no trading contract"):
        Trading(market.chain, market.stranger.address)


@pytest.mark.parametrize("name", ["commit_window", "prepare_window", "publish_window", "settle_window"])
@pytest.mark.parametrize("value", [0, 2**32 + 1])
def test_window_out_of_range_is_refused(make_market, name, value):
    with pytest.raises(InputError, match=name):
        make_market(**{name: value})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"acquirer": "0x" + "00" * 20}, "acquirer is empty"),
        ({"advance_fee": 2**96}, "advance fee too large"),
        ({"settlement": ExactModel(content=bytes(32), blinding=0, point=bytes(128))}, "point at infinity"),
        ({"settlement": ExactModel(content=bytes(32), blinding=0, point=b"\1" * 128)}, "point is not in the group"),
    ],
)
def test_contract_checks_the_terms_itself(make_market, changes, reason):
    with pytest.raises(RevertedError, match=reason):
        make_market(**changes)


def test_coins_sent_without_a_call_are_refused(market):
    with pytest.raises(ChainError):
        market.chain.transfer(to=market.trading.address, amount=1, account=market.stranger)
