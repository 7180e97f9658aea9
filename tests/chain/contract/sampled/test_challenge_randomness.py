"""challenge_randomness: in optimistic markets a false output costs the acquirer its penalty."""

from dataclasses import replace

import pytest
from web3.exceptions import Web3Exception

from martfl.chain.events import EpochFailed, RandomnessRefuted
from martfl.chain.network import RevertedError
from martfl.chain.sampled import wide
from martfl.chain.state import Phase


@pytest.fixture
def optimistic(make_market):
    market = make_market(optimistic=True)
    market.drawn()
    return market


def challenge(market, proof, **changes):
    return market.trading.challenge_randomness(market.epoch, **({"proof": proof, "account": market.stranger} | changes))


def test_false_output_costs_the_penalty(optimistic):
    market = optimistic
    false = replace(market.delay, y=market.delay.y ^ 1)
    market.randomise(proof=false)
    with market.refused("not what was submitted", by="prover"):
        challenge(market, market.delay)
    done = challenge(market, false)
    assert set(done.events) == {
        RandomnessRefuted(market=market.trading.address, epoch=1),
        EpochFailed(epoch=1),
    }
    assert market.state().phase == Phase.FAILED
    paid = market.claim_all()
    assert paid == {market.sellers[i].name: market.price(i) for i in range(3)} | {
        market.acquirer.address: market.state().reward - market.state().spent
    }
    assert market.held() == market.state().penalty


@pytest.mark.parametrize("field", ["y", "pi", "nonce"])
def test_a_lie_in_any_part_can_be_challenged(optimistic, field):
    market = optimistic
    false = replace(market.delay, **{field: getattr(market.delay, field) ^ 1})
    market.randomise(proof=false)
    challenge(market, false)
    assert market.state().phase == Phase.FAILED


def test_until_the_model_stands(optimistic, to_the_second):
    market = optimistic
    false = replace(market.delay, nonce=market.delay.nonce + 1)  # the right y: the samples, and so the proof, hold
    market.randomise(proof=false)
    market.commit_inputs()
    market.verify()
    before = market.chain.snapshot()
    market.next_at(market.state().deadline)
    challenge(market, false)
    assert market.state().phase == Phase.FAILED
    market.chain.revert(before)
    market.next_at(market.state().deadline + 1)
    with market.refused("wrong phase"):
        challenge(market, false)
    assert market.state().phase in (Phase.PROVED, Phase.SETTLED)


def test_right_output_stands(optimistic):
    optimistic.randomise()
    with optimistic.refused("delay function verifies", by="prover"):
        challenge(optimistic, optimistic.delay)


def test_with_too_little_gas_no_challenge_succeeds(optimistic):
    market = optimistic
    market.randomise()
    call = market.trading.prover.functions.challenge_randomness
    words = (wide(market.delay.y), wide(market.delay.pi), market.delay.nonce)
    for gas in range(100_000, 500_000, 40_000):
        with pytest.raises(Web3Exception, match=r"(?i)gas|revert|verifies"):
            call(market.trading.address, 1, *words).call({"from": market.stranger.address, "gas": gas})
    with pytest.raises(RevertedError, match="delay function verifies"):
        challenge(market, market.delay)


def test_no_challenge_where_it_was_verified(market):
    market.randomised()
    with market.refused("already verified", by="prover"):
        challenge(market, market.delay)


def test_nothing_to_challenge_before_it_is_submitted(optimistic):
    with optimistic.refused("not what was submitted", by="prover"):
        challenge(optimistic, optimistic.delay)


def test_once(optimistic):
    false = replace(optimistic.delay, y=optimistic.delay.y ^ 1)
    optimistic.randomise(proof=false)
    challenge(optimistic, false)
    with optimistic.refused("wrong phase"):
        challenge(optimistic, false)
