"""Terms are fixed when the contract is made, readable by anybody, and checked."""

from dataclasses import replace

import pytest
from exact_market import model_digest

from martfl.chain.calls import put, words
from martfl.chain.deployment import WINDOWS, ExactModel
from martfl.chain.events import ModelPublished
from martfl.chain.exact import ExactTrading
from martfl.chain.network import ChainError, RevertedError
from martfl.chain.open import open_trading
from martfl.errors import InputError


def test_terms_are_readable_as_given(market):
    posted = market.trading.terms()
    for name in ("acquirer", *WINDOWS, "penalty_ratio", "minimum_deposit", "terms_hash", "token"):
        assert getattr(posted, name) == getattr(market.terms, name)
    assert market.trading.layout() == market.terms.settlement.layout
    assert market.trading.contract.functions.SCHEME().call() == "exact"


def test_initial_model_is_announced_and_kept(market):
    assert market.trading.model(0) == market.initial
    assert market.standing_digest() == model_digest(market.initial)
    (first,) = market.trading.events(ModelPublished, epoch=0)
    assert (first.providers, first.weights) == ((), ())


def test_client_finds_the_scheme_of_an_address(market):
    assert isinstance(open_trading(market.chain, market.trading.address), ExactTrading)


def test_client_refuses_an_address_without_contract(market):
    with pytest.raises(ChainError, match="no trading contract"):
        open_trading(market.chain, market.stranger.address)


def test_code_of_market_and_judge_is_recognised(market, make_market):
    assert market.trading.has_our_code()
    assert open_trading(market.chain, market.trading.address).has_our_code()
    stranger = put(market.chain, "prover", (), account=market.acquirer).contract
    start = replace(market.terms.settlement, judge=stranger)
    assert not make_market(settlement=start).trading.has_our_code()


def test_one_judge_serves_many_markets(market, make_market):
    judge = market.trading.contract.functions.judge().call()
    other = make_market(settlement=replace(market.terms.settlement, judge=judge))
    assert other.trading.has_our_code()
    other.lies(0)
    other.bought()
    other.reveal(0)
    other.refute(0)


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("value", [0, 2**32 + 1])
def test_window_out_of_range_is_refused_by_client_and_contract(market, make_market, name, value):
    with pytest.raises(InputError, match=name):
        make_market(**{name: value})
    with market.refused("window must be 1 to 2^32 seconds"):
        deploy(market, **{name: value})


def deploy(market, **changes):
    """Past the client's own checks."""
    start, terms = market.terms.settlement, dict(zip(_names(), market.terms.shared(), strict=True))
    layout = replace(start.layout, **{k: changes.pop(k) for k in list(changes) if hasattr(start.layout, k)})
    model = changes.pop("model", start.model)
    judge = changes.pop("judge", market.trading.contract.functions.judge().call())
    arguments = (tuple((terms | changes).values()), words(layout), words(model), judge)
    return put(market.chain, "exact", arguments, account=market.acquirer)


def _names() -> tuple[str, ...]:
    return ("acquirer", "token", *WINDOWS, "penalty_ratio", "minimum_deposit", "terms_hash")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"acquirer": "0x" + "00" * 20}, "acquirer is empty"),
        ({"penalty_ratio": 0}, "penalty ratio must be 1 to 1000000"),
        ({"penalty_ratio": 1_000_001}, "penalty ratio must be 1 to 1000000"),
        ({"minimum_deposit": 0}, "minimum deposit out of range"),
        ({"minimum_deposit": 2**96}, "minimum deposit out of range"),
        ({"judge": "0x" + "11" * 20}, "no contract that judges leaves"),
        ({"parameters": 0}, "parameters must be 1 to 2^32"),
        ({"parameters": 2**32 + 1}, "parameters must be 1 to 2^32"),
        ({"parameters": 2**256 - 1}, "parameters must be 1 to 2^32"),
        ({"bits": 1}, "bits must be 2 to 32"),
        ({"bits": 33, "width": 34}, "bits must be 2 to 32"),
        ({"slots": 0}, "slots must be 1 to 6"),
        ({"slots": 7, "width": 30}, "slots must be 1 to 6"),
        ({"width": 16}, "slots do not fit a scalar"),
        ({"width": 43}, "slots do not fit a scalar"),
        ({"model": ExactModel(content=bytes(32), blinding=0, point=bytes(128))}, "point at infinity"),
        ({"model": ExactModel(content=bytes(32), blinding=0, point=b"\1" * 128)}, "point is not in the group"),
    ],
)
def test_contract_checks_the_terms_itself(market, changes, reason):
    with market.refused(reason):
        deploy(market, **changes)


def test_blinding_of_the_first_model_is_a_scalar(market):
    with market.refused("blinding is not below the group order"):
        deploy(market, model=replace(market.initial, blinding=market.order))


@pytest.mark.parametrize("changes", [{"parameters": 2**32}, {"width": 42}, {"slots": 1, "width": 254}])
def test_the_largest_layouts_are_taken(market, changes):
    deploy(market, **changes)


def test_coins_sent_without_a_call_are_refused(market):
    with pytest.raises(RevertedError, match="no reason given"):
        market.chain.transfer(to=market.trading.address, amount=1, account=market.stranger)


@pytest.mark.parametrize("name", ["commit_model", "buy", "reveal", "claim_reward", "publish_model"])
def test_coins_are_taken_by_deposits_alone(market, name):
    arguments = {
        "commit_model": (1, bytes(32)),
        "buy": (1, []),
        "reveal": (1, market.stranger.address, bytes(32), bytes(32), bytes(32)),
        "claim_reward": (1,),
        "publish_model": (1, bytes(32), 0, (bytes(32), 0), [], [], b""),
    }[name]
    market.open()
    with pytest.raises(RevertedError, match="no reason given"):
        market.chain.send(market.trading.contract.functions[name](*arguments), account=market.acquirer, value=1)
