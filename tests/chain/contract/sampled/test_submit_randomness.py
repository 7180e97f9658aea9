"""submit_randomness: the delay function's output, verified on chain; in optimistic markets taken from the acquirer."""

import hashlib
from dataclasses import replace

import gmpy2
import pytest
from sampled_market import delay_of

from martfl.chain.events import RandomnessSubmitted
from martfl.chain.sampled import wide
from martfl.chain.state import Phase
from martfl.settlement.sampled import sampling
from martfl.settlement.sampled.vdf import N, VdfProof, challenge, hash_to_group, randomness

MODULUS = int(N)


def test_output_is_verified_and_announced(market):
    market.drawn()
    event = market.randomise(account=market.stranger).event(RandomnessSubmitted)
    assert (event.market, event.randomness) == (market.trading.address, randomness(market.delay))
    expected = sampling.indices(randomness(market.delay), parameters=market.parameters, samples=4)
    assert market.trading.indices(1) == expected
    assert market.state().phase == Phase.PUBLISHED


def test_after_the_draw_and_once(market):
    market.published()
    market.delay = VdfProof(1, 1, 0)
    with market.refused("samples are not drawn", by="prover"):
        market.randomise()
    market.draw()
    done = market.randomise(account=market.stranger)
    words = (1, wide(market.delay.y), wide(market.delay.pi), market.delay.nonce)
    with market.refused("randomness is known", by="prover"):
        market.at_prover("submit_randomness", *words, account=market.acquirer)
    again = market.randomise()  # the client sees that it is done
    assert again.event(RandomnessSubmitted) == done.event(RandomnessSubmitted)


def test_not_after_the_window(market):
    market.drawn()
    market.pass_deadline()
    with market.refused("wrong phase"):
        market.randomise()


KINDS = ["other y", "mirror", "zero", "one", "N", "mirrored pi", "pi", "pi zero", "nonce", "far nonce"]


@pytest.mark.parametrize("kind", KINDS)
def test_forgeries_are_refused(market, kind):
    market.drawn()
    good = market.delay
    forged = {
        "other y": replace(good, y=good.y ^ 1),
        "mirror": replace(good, y=MODULUS - good.y, pi=MODULUS - good.pi),
        "zero": VdfProof(0, 0, good.nonce),
        "one": VdfProof(1, 1, good.nonce),
        "N": replace(good, pi=good.pi + MODULUS) if good.pi + MODULUS < 2**2048 else VdfProof(0, 0, 1),
        "mirrored pi": replace(good, pi=MODULUS - good.pi),
        "pi": replace(good, pi=good.pi ^ 1),
        "pi zero": replace(good, pi=0),
        "nonce": replace(good, nonce=good.nonce + 1),
        "far nonce": replace(good, nonce=4096),
    }[kind]
    with market.refused("delay function does not verify", by="prover"):
        market.randomise(proof=forged)


def test_composite_challenge_is_refused(market):
    market.drawn()
    seed = market.trading.proof().seed
    x, y = hash_to_group(seed), gmpy2.mpz(market.delay.y)
    nonce = next(n for n in range(4096) if not gmpy2.is_prime(challenge(x, y, squarings=market.steps, nonce=n)))
    ell = challenge(x, y, squarings=market.steps, nonce=nonce)
    # the equation holds for this composite l and the right y, yet it proves nothing
    quotient = gmpy2.powmod(x, (gmpy2.mpz(1) << market.steps) // ell, N)
    good = gmpy2.powmod(quotient, ell, N) * gmpy2.powmod(x, gmpy2.powmod(2, market.steps, ell), N) % N == y
    forged = VdfProof(int(y), int(quotient if good else N - quotient), nonce)
    with market.refused("delay function does not verify", by="prover"):
        market.randomise(proof=forged)


@pytest.mark.parametrize("steps", [264, 299, 301, 600])
def test_another_delay_is_refused(market, steps):
    market.drawn()
    seed = market.trading.proof().seed
    with market.refused("delay function does not verify", by="prover"):
        market.randomise(proof=delay_of(seed, steps))


def test_output_of_another_seed_is_refused(market):
    market.drawn()
    with market.refused("delay function does not verify", by="prover"):
        market.randomise(proof=delay_of(hashlib.sha256(b"other").digest()))


def test_optimistic_market_takes_it_on_trust_from_the_acquirer_alone(make_market):
    market = make_market(optimistic=True)
    market.drawn()
    with market.refused("only the acquirer", by="prover"):
        market.randomise(account=market.stranger)
    assert market.randomise().gas < 200_000
