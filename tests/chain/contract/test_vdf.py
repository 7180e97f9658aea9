"""The delay function on chain rules as `martfl.settlement.sampled.vdf` does, to the bit."""

import dataclasses
import shutil
from pathlib import Path

import gmpy2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.chain import contracts
from martfl.chain.compile import compiled
from martfl.chain.embedded import EmbeddedChain, local_account
from martfl.settlement.sampled import vdf
from martfl.settlement.sampled.vdf import MAX_NONCE, N, VdfProof

SEED, STEPS = bytes(range(32)), 300


SOURCE = Path(contracts.__path__[0]) / "vdf.vy"
ALONE = """# pragma version 0.4.3
# pragma evm-version prague
import vdf

@external
@view
def holds(seed: bytes32, steps: uint256, y: uint256[8], pi: uint256[8], counter: uint256) -> bool:
    return vdf.holds(seed, steps, y, pi, counter)
"""


@pytest.fixture(scope="module")
def holds(tmp_path_factory):
    """The ruling of `vdf.vy`, in a contract of its own."""
    folder, chain = tmp_path_factory.mktemp("vdf"), EmbeddedChain()
    shutil.copy(SOURCE, folder)
    (folder / "alone.vy").write_text(ALONE)
    code = compiled("alone", sources=folder)
    factory = chain.web3.eth.contract(abi=list(code.abi), bytecode=code.bytecode)
    address = chain.send(factory.constructor(), account=local_account(0)).contract
    functions = chain.web3.eth.contract(address=address, abi=list(code.abi)).functions

    def ruling(seed: bytes, proof: VdfProof, *, squarings: int) -> bool:
        wide = [[(value >> 256 * (7 - i)) % 2**256 for i in range(8)] for value in (proof.y, proof.pi)]
        return functions.holds(seed, squarings, *wide, proof.nonce).call()

    yield ruling
    chain.close()


@pytest.fixture(scope="module")
def honest() -> VdfProof:
    return vdf.evaluate(SEED, squarings=STEPS)


@settings(max_examples=20, deadline=None)
@given(seed=st.binary(min_size=32, max_size=32), squarings=st.integers(264, 3000))
def test_honest_outputs_hold_for_any_seed_and_delay(holds, seed, squarings):
    proof = vdf.evaluate(seed, squarings=squarings)
    assert holds(seed, proof, squarings=squarings)
    assert not holds(seed, proof, squarings=squarings + 1)


@settings(max_examples=20, deadline=None)
@given(field=st.sampled_from(["y", "pi"]), bit=st.integers(0, 2046))
def test_no_changed_bit_holds(holds, honest, field, bit):
    changed = dataclasses.replace(honest, **{field: getattr(honest, field) ^ 1 << bit})
    assert not vdf.verify(SEED, changed, squarings=STEPS)
    assert not holds(SEED, changed, squarings=STEPS)


@pytest.mark.parametrize("nonce", range(12))
def test_primes_and_composites_are_told_apart_as_off_chain(holds, honest, nonce):
    """For every challenge the equation is made true: only whether ℓ is prime decides."""
    x, y = vdf.hash_to_group(SEED), gmpy2.mpz(honest.y)
    nonce = (honest.nonce + nonce) % MAX_NONCE  # the first of them is prime
    ell = vdf.challenge(x, y, squarings=STEPS, nonce=nonce)
    root = gmpy2.powmod(x, (1 << STEPS) // int(ell), N)
    proofs = [VdfProof(honest.y, int(pi), nonce) for pi in (root, N - root)]
    on_chain = [holds(SEED, proof, squarings=STEPS) for proof in proofs]
    assert on_chain == [vdf.verify(SEED, proof, squarings=STEPS) for proof in proofs]
    assert any(on_chain) == gmpy2.is_prime(ell)


def test_a_challenge_of_128_bits_is_refused(holds, honest):
    """The old rule's challenge, and a proof that is right for it."""
    x = vdf.hash_to_group(SEED)
    for nonce in range(MAX_NONCE):
        short = vdf.challenge(x, gmpy2.mpz(honest.y), squarings=STEPS, nonce=nonce) % (1 << 128) | 1 << 127
        if gmpy2.is_prime(short):
            break
    root = gmpy2.powmod(x, (1 << STEPS) // int(short), N)
    for pi in (root, N - root):
        assert not holds(SEED, VdfProof(honest.y, int(pi), nonce), squarings=STEPS)


@pytest.mark.parametrize("kind", ["zero", "pi zero", "mirror", "pi beyond N", "far nonce"])
def test_values_out_of_range_are_refused(holds, honest, kind):
    forged = {
        "zero": VdfProof(0, 0, honest.nonce),
        "pi zero": dataclasses.replace(honest, pi=0),
        "mirror": dataclasses.replace(honest, y=int(N) - honest.y, pi=int(N) - honest.pi),
        "pi beyond N": dataclasses.replace(honest, pi=int(N) + min(honest.pi, 2**2048 - 1 - int(N))),
        "far nonce": dataclasses.replace(honest, nonce=MAX_NONCE),
    }[kind]
    assert not vdf.verify(SEED, forged, squarings=STEPS)
    assert not holds(SEED, forged, squarings=STEPS)


def test_no_call_limits_the_gas_of_a_precompile():
    source = SOURCE.read_text()
    assert "raw_call" in source
    assert "gas=" not in source
