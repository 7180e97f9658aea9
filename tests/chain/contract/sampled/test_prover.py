"""One prover serves many markets: nobody's steps, and no false market, touch another's proof."""

from dataclasses import replace

import pytest

from martfl.chain.network import RevertedError
from martfl.chain.sampled import wide
from martfl.chain.state import Phase


@pytest.fixture
def pair(make_market):
    """Two markets of one prover; the first can wait for the second."""
    one = make_market(settle_window=100_000)
    return one, make_market(settle_window=100_000, sampling={"prover": one.trading.sampling().prover})


def proof_of(market):
    return market.trading.prover.functions.proofs(market.trading.address).call()


def test_two_markets_are_proved_side_by_side(pair):
    for market in pair:
        market.drawn()
    first, second = (proof_of(market) for market in pair)
    assert first[0] == second[0] == 1
    assert first[1] != second[1]
    for market in pair:
        market.randomise()
    for market in pair:
        market.commit_inputs()
        market.verify()
    assert [market.state().phase for market in pair] == [Phase.PROVED] * 2


def test_output_and_inputs_of_one_market_do_not_serve_another(pair):
    one, other = pair
    one.randomised()
    other.drawn()
    with one.refused("delay function does not verify", by="prover"):
        other.randomise(proof=one.delay)
    other.randomise()
    one.commit_inputs()
    posted = one.trading.inputs(1)
    call = other.trading.prover.functions.verify_aggregation
    arguments = (other.trading.address, 1, list(posted.providers), list(posted.inputs), [], [0] * 8)
    with one.refused("not the committed inputs", by="prover"):
        one.chain.send(call(*arguments), account=one.stranger)


@pytest.fixture
def false_market(helper, market):
    """A contract that says it is a market: it repeats another's publication under an acquirer and key of its own."""
    return helper("false_market", market.trading.address, market.trading.sampling().prover, market.stranger.address)


def test_false_market_writes_its_own_place_only(market, false_market):
    market.drawn()
    before, prover = proof_of(market), market.trading.prover.functions
    market.chain.send(prover.draw_samples(false_market.address, 1), account=market.stranger)
    assert proof_of(market) == before
    assert prover.proofs(false_market.address).call()[0] == 1
    words = ([0] * 7 + [1], [0] * 7 + [1], 0)
    market.chain.send(prover.submit_randomness(false_market.address, 1, *words), account=market.stranger)
    assert proof_of(market) == before
    market.randomise()
    market.commit_inputs()
    market.verify()
    assert market.state().phase == Phase.PROVED


def test_false_market_cannot_make_the_prover_speak_to_another(market, false_market):
    """It is told how its own proof ended, and calls on: the true market hears a stranger."""
    market.with_inputs()
    prover, chain = market.trading.prover.functions, market.chain
    words = ([0] * 7 + [1], [0] * 7 + [1], 0)
    chain.send(prover.draw_samples(false_market.address, 1), account=market.stranger)
    chain.send(prover.submit_randomness(false_market.address, 1, *words), account=market.stranger)
    chain.send(prover.challenge_randomness(false_market.address, 1, *words), account=market.stranger)
    assert false_market.functions.heard().call() == 1
    assert false_market.functions.passed_on().call() == 0
    assert market.state().phase == Phase.PUBLISHED


def test_false_market_that_comes_back_gains_nothing(market, false_market):
    """While it is asked about its publication it may only be read; while it is told, it may call the prover again."""
    market.drawn()
    before, prover, chain = proof_of(market), market.trading.prover.functions, market.chain
    words = ([0] * 7 + [1], [0] * 7 + [1], 0)
    chain.send(false_market.functions.come_back(True), account=market.stranger)
    chain.send(prover.draw_samples(false_market.address, 1), account=market.stranger)
    chain.send(prover.submit_randomness(false_market.address, 1, *words), account=market.stranger)
    chain.send(prover.challenge_randomness(false_market.address, 1, *words), account=market.stranger)
    assert proof_of(market) == before


def test_address_without_a_market_is_refused(market):
    prover = market.trading.prover.functions
    for address in (market.stranger.address, market.trading.prover.address):
        with pytest.raises(RevertedError):
            market.chain.send(prover.draw_samples(address, 1), account=market.stranger)


def test_checks_alone_are_open_to_everybody(market):
    market.with_inputs()
    prover = market.trading.prover.functions
    seed = proof_of(market)[1]
    good = market.delay
    assert prover.delay_holds(seed, market.steps, wide(good.y), wide(good.pi), good.nonce).call()
    false = replace(good, y=good.y ^ 1)
    assert not prover.delay_holds(seed, market.steps, wide(false.y), wide(false.pi), false.nonce).call()
