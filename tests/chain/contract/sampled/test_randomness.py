"""publish_model, submit_randomness, challenge_randomness: samples are drawn by a delay function, verified on chain."""

import dataclasses
import hashlib

import gmpy2
import pytest

from martfl.chain.events import EpochClosed, RandomnessSubmitted
from martfl.chain.network import RevertedError
from martfl.chain.state import Phase
from martfl.settlement.sampled import sampling
from martfl.settlement.sampled.vdf import N, VdfProof, challenge, evaluate, hash_to_group, randomness

MODULUS = int(N)


def test_only_the_acquirer_publishes_and_once(market):
    market.prepared()
    with market.refused("only the acquirer"):
        market.publish(account=market.providers[0])
    market.publish()
    with market.refused("wrong phase"):
        market.publish()


def test_output_is_verified_and_announced(market):
    market.published()
    done = market.randomise(account=market.stranger)
    event = done.event(RandomnessSubmitted)
    assert event.randomness == randomness(market.delay)
    assert market.state().phase == Phase.RANDOMISED
    expected = sampling.indices(randomness(market.delay), parameters=market.parameters, samples=4)
    assert market.trading.indices() == expected


def test_not_twice_and_not_too_late(market):
    market.published()
    market.chain.travel_to(market.state().deadline)
    with market.refused("too late"):
        market.randomise()


@pytest.mark.parametrize(
    "kind", ["other y", "mirror", "zero", "N", "mirrored pi", "pi", "pi zero", "nonce", "far nonce"]
)
def test_forgeries_are_refused(market, kind):
    market.published()
    good = market.delay
    forged = {
        "other y": dataclasses.replace(good, y=good.y ^ 1),
        "mirror": dataclasses.replace(good, y=MODULUS - good.y, pi=MODULUS - good.pi),
        "zero": VdfProof(0, 0, good.nonce),
        "N": dataclasses.replace(good, pi=good.pi + MODULUS) if good.pi + MODULUS < 2**2048 else VdfProof(0, 0, 1),
        "mirrored pi": dataclasses.replace(good, pi=MODULUS - good.pi),
        "pi": dataclasses.replace(good, pi=good.pi ^ 1),
        "pi zero": dataclasses.replace(good, pi=0),
        "nonce": dataclasses.replace(good, nonce=good.nonce + 1),
        "far nonce": dataclasses.replace(good, nonce=4096),
    }[kind]
    with market.refused("delay function does not verify"):
        market.randomise(proof=forged)


def test_composite_challenge_is_refused(market):
    market.published()
    seed = market.trading.root(1).seed
    x, y = hash_to_group(seed), gmpy2.mpz(market.delay.y)
    nonce = next(n for n in range(4096) if not gmpy2.is_prime(challenge(x, y, squarings=market.steps, nonce=n)))
    ell = challenge(x, y, squarings=market.steps, nonce=nonce)
    # the equation holds for this composite ℓ and the right y, yet it proves nothing
    quotient = gmpy2.powmod(x, (gmpy2.mpz(1) << market.steps) // ell, N)
    good = gmpy2.powmod(quotient, ell, N) * gmpy2.powmod(x, gmpy2.powmod(2, market.steps, ell), N) % N == y
    forged = VdfProof(int(y), int(quotient if good else N - quotient), nonce)
    with market.refused("delay function does not verify"):
        market.randomise(proof=forged)


@pytest.mark.parametrize("steps", [264, 299, 301, 600])
def test_another_delay_is_refused(market, steps):
    market.published()
    with market.refused("delay function does not verify"):
        market.randomise(proof=evaluate(market.trading.root(1).seed, squarings=steps))


def test_output_of_another_seed_is_refused(market):
    market.published()
    with market.refused("delay function does not verify"):
        market.randomise(proof=evaluate(hashlib.sha256(b"other").digest(), squarings=market.steps))


def test_optimistic_market_takes_it_on_trust_from_the_acquirer_alone(make_market):
    market = make_market(optimistic=True)
    market.published()
    with market.refused("only the acquirer"):
        market.randomise(account=market.stranger)
    cheap = market.randomise().gas
    assert cheap < 120_000
    with market.refused("delay function verifies"):
        market.trading.challenge_randomness(1, proof=market.delay, account=market.stranger)


def test_challenge_of_a_false_output_costs_the_penalty(make_market):
    market = make_market(optimistic=True)
    market.published()
    false = dataclasses.replace(market.delay, y=market.delay.y ^ 1)
    market.randomise(proof=false)
    with market.refused("not what was submitted"):
        market.trading.challenge_randomness(1, proof=market.delay, account=market.stranger)
    done = market.trading.challenge_randomness(1, proof=false, account=market.stranger)
    assert done.events == (EpochClosed(epoch=1, phase=Phase.FAILED),)
    assert sum(market.claim_all().values()) == market.amount


def test_challenge_with_too_little_gas_does_not_succeed(make_market):
    market = make_market(optimistic=True)
    market.published()
    market.randomise()
    call = market.trading.contract.functions.challenge_randomness
    wide = [[(value >> 256 * (7 - i)) % 2**256 for i in range(8)] for value in (market.delay.y, market.delay.pi)]
    for gas in (90_000, 120_000, 150_000, 180_000):
        with pytest.raises(Exception, match=r"(?i)gas|revert|verifies"):
            call(1, *wide, market.delay.nonce).call({"from": market.stranger.address, "gas": gas})
    with pytest.raises(RevertedError):
        market.trading.challenge_randomness(1, proof=market.delay, account=market.stranger)


def test_no_challenge_where_it_was_verified(market):
    market.randomised()
    with market.refused("already verified"):
        market.trading.challenge_randomness(1, proof=market.delay, account=market.stranger)
