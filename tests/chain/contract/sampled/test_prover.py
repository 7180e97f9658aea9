"""One prover serves many markets: nobody's steps, and no false market, touch another's proof."""

from dataclasses import replace

import pytest
from vyper.compiler import compile_from_file_input
from vyper.compiler.input_bundle import FilesystemInputBundle

from martfl.chain.compile import SOURCES
from martfl.chain.network import RevertedError
from martfl.chain.sampled import wide
from martfl.chain.state import Phase


@pytest.fixture
def pair(make_market):
    """Two markets of one prover; the first can wait for the second."""
    one = make_market(settle_window=100_000)
    return one, make_market(settle_window=100_000, sampling={"prover": one.trading.sampling().prover})


def test_two_markets_are_proved_side_by_side(pair):
    for market in pair:
        market.drawn()
    first, second = (market.trading.proof() for market in pair)
    assert first.epoch == second.epoch == 1
    assert first.seed != second.seed
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


def test_prover_and_judge_keep_nothing():
    """Else another constructor could leave the same code with a proof in it that nobody made."""
    for name in ("prover", "judge"):
        bundle = FilesystemInputBundle([SOURCES])
        file = bundle.load_file(SOURCES / f"{name}.vy")
        layout = compile_from_file_input(file, input_bundle=bundle, output_formats=["layout"])["layout"]
        assert not layout.get("storage_layout"), name
        assert not layout.get("code_layout"), name


@pytest.mark.parametrize("name", ["keep", "proved", "failed"])
def test_only_the_prover_tells_a_market(market, name):
    market.with_inputs()
    argument = (1, *[bytes(32)] * 4) if name == "keep" else 1
    for account in (market.acquirer, market.stranger, market.sellers[0].account):
        with market.refused("only the prover"):
            market.chain.send(market.trading.contract.functions[name](argument), account=account)


@pytest.fixture
def false_market(helper, market):
    """A contract that says it is a market: it repeats another's publication under an acquirer and key of its own."""
    return helper("false_market", market.trading.address, market.trading.sampling().prover, market.stranger.address)


WORDS = ([0] * 7 + [1], [0] * 7 + [1], 0)


@pytest.mark.parametrize("back", [False, True])
def test_false_market_cannot_make_the_prover_speak_to_another(market, false_market, back):
    """It is told how far its own proof is and how it ended, and calls on; the true market hears a stranger."""
    market.drawn()
    before, prover, chain = market.trading.proof(), market.trading.prover.functions, market.chain
    chain.send(false_market.functions.come_back(back), account=market.stranger)
    chain.send(prover.draw_samples(false_market.address, 1), account=market.stranger)
    chain.send(prover.submit_randomness(false_market.address, 1, *WORDS), account=market.stranger)
    chain.send(prover.challenge_randomness(false_market.address, 1, *WORDS), account=market.stranger)
    assert false_market.functions.heard().call() == 3
    assert false_market.functions.passed_on().call() == 0
    assert market.trading.proof() == before
    assert market.state().phase == Phase.PUBLISHED
    market.randomise()
    market.commit_inputs()
    market.verify()
    assert market.state().phase == Phase.PROVED


def test_address_without_a_market_is_refused(market):
    prover = market.trading.prover.functions
    for address in (market.stranger.address, market.trading.prover.address):
        with pytest.raises(RevertedError, match="no reason given"):
            market.chain.send(prover.draw_samples(address, 1), account=market.stranger)


def test_checks_alone_are_open_to_everybody(market):
    market.with_inputs()
    prover = market.trading.prover.functions
    seed = market.trading.proof().seed
    good = market.delay
    assert prover.delay_holds(seed, market.steps, wide(good.y), wide(good.pi), good.nonce).call()
    false = replace(good, y=good.y ^ 1)
    assert not prover.delay_holds(seed, market.steps, wide(false.y), wide(false.pi), false.nonce).call()
