"""Wesolowski's proof: honest ones verify, and every known trap is closed."""

import gmpy2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.settlement import SettlementError
from martfl.settlement.keccak import keccak, word
from martfl.settlement.sampled import vdf
from martfl.settlement.sampled.vdf import MAX_NONCE, N, VdfProof

SEED = bytes(range(32))
DELAY = 3000


@pytest.fixture(scope="module")
def honest() -> VdfProof:
    return vdf.evaluate(SEED, squarings=DELAY)


def with_challenge(y: int, *, prime: bool) -> VdfProof:
    """x^⌊2^T/ℓ⌋ for the first ℓ that is prime, or that is not."""
    x = vdf.hash_to_group(SEED)
    for nonce in range(MAX_NONCE):
        ell = vdf.challenge(x, gmpy2.mpz(y), squarings=DELAY, nonce=nonce)
        if bool(gmpy2.is_prime(ell)) == prime:
            return VdfProof(y, int(gmpy2.powmod(x, (1 << DELAY) // int(ell), N)), nonce)
    raise AssertionError("no such challenge")


def test_the_modulus_is_the_challenge_number():
    digits = str(N)
    assert len(digits) == 617
    assert sum(map(int, digits)) == 2738


@pytest.mark.parametrize("squarings", [264, 265, 266, 300, 1000])
def test_output_is_repeated_squaring_up_to_sign(squarings):
    proof = vdf.evaluate(SEED, squarings=squarings)
    y = vdf.hash_to_group(SEED)
    for _ in range(squarings):
        y = y * y % N
    assert proof.y in (y, N - y)
    assert vdf.verify(SEED, proof, squarings=squarings)


@settings(max_examples=15)
@given(seed=st.binary(min_size=32, max_size=32), squarings=st.integers(264, 5000))
def test_any_seed_and_delay(seed, squarings):
    proof = vdf.evaluate(seed, squarings=squarings)
    assert vdf.verify(seed, proof, squarings=squarings)
    assert not vdf.verify(seed, proof, squarings=squarings + 1)


def test_windows_with_several_groups_give_the_same_proof(monkeypatch):
    plain = vdf.evaluate(SEED, squarings=DELAY)
    monkeypatch.setattr(vdf, "_MAX_CHECKPOINTS", 20)
    assert vdf._windows(DELAY)[1] > 1
    assert vdf.evaluate(SEED, squarings=DELAY) == plain


def test_another_seed_is_rejected(honest):
    assert not vdf.verify(bytes(32), honest, squarings=DELAY)


def test_the_other_sign_is_rejected(honest):
    assert not vdf.verify(SEED, VdfProof(int(N) - honest.y, int(N) - honest.pi, honest.nonce), squarings=DELAY)
    other = with_challenge(int(N) - honest.y, prime=True)  # even with the challenge that belongs to N − y
    signs = [VdfProof(other.y, pi, other.nonce) for pi in (other.pi, int(N) - other.pi)]
    assert any(equation_holds(p) for p in signs)  # only the rule y < N/2 refuses it
    assert not any(vdf.verify(SEED, p, squarings=DELAY) for p in signs)


def equation_holds(proof: VdfProof) -> bool:
    """π^ℓ x^(2^T mod ℓ) = y, and nothing else."""
    x = vdf.hash_to_group(SEED)
    ell = vdf.challenge(x, gmpy2.mpz(proof.y), squarings=DELAY, nonce=proof.nonce)
    return gmpy2.powmod(proof.pi, ell, N) * gmpy2.powmod(x, gmpy2.powmod(2, DELAY, ell), N) % N == proof.y


def test_challenges_have_264_bits_and_all_but_three_of_them_vary():
    x = vdf.hash_to_group(SEED)
    drawn = [int(vdf.challenge(x, gmpy2.mpz(5), squarings=DELAY, nonce=nonce)) for nonce in range(64)]
    assert all(ell.bit_length() == 264 and ell % 4 == 3 for ell in drawn)
    for bit in range(2, 263):
        assert len({ell >> bit & 1 for ell in drawn}) == 2, bit


def test_the_challenge_is_two_hashes():
    """Written out once more: (keccak(h ‖ nonce ‖ 0) ‖ keccak(h ‖ nonce ‖ 1)) mod 2^264."""
    x, y = vdf.hash_to_group(SEED), 12345
    h = keccak(int(x).to_bytes(256, "big") + y.to_bytes(256, "big") + word(DELAY))
    high, low = (int.from_bytes(keccak(h + word(7) + word(i)), "big") for i in (0, 1))
    expected = (high % 256 << 256) + low | 1 << 263 | 3
    assert vdf.challenge(x, gmpy2.mpz(y), squarings=DELAY, nonce=7) == expected


def test_a_set_of_primes_known_ahead_proves_a_false_output_where_the_challenge_falls_into_it(honest):
    """Why challenges must be too many to be listed: y·g^B has the root π·g^(B/ℓ) for every ℓ that divides B."""
    x, g = vdf.hash_to_group(SEED), gmpy2.mpz(7)
    ell = vdf.challenge(x, gmpy2.mpz(honest.y), squarings=DELAY, nonce=honest.nonce)
    listed = ell * 1000003  # B, were ℓ among the primes of the list
    false = honest.y * gmpy2.powmod(g, listed, N) % N
    root = honest.pi * gmpy2.powmod(g, listed // ell, N) % N
    rest = gmpy2.powmod(x, gmpy2.powmod(2, DELAY, ell), N)
    assert gmpy2.powmod(root, ell, N) * rest % N == false != honest.y
    assert not vdf.verify(SEED, VdfProof(int(min(false, N - false)), int(root), honest.nonce), squarings=DELAY)


def test_zero_is_rejected(honest):
    assert not vdf.verify(SEED, VdfProof(0, 0, with_challenge(0, prime=True).nonce), squarings=DELAY)
    assert not vdf.verify(SEED, VdfProof(honest.y, 0, honest.nonce), squarings=DELAY)


def test_a_composite_challenge_is_rejected(honest):
    composite = with_challenge(honest.y, prime=False)
    signs = [VdfProof(honest.y, pi, composite.nonce) for pi in (composite.pi, int(N) - composite.pi)]
    assert any(equation_holds(p) for p in signs)  # only primality is missing
    assert not any(vdf.verify(SEED, p, squarings=DELAY) for p in signs)


@pytest.mark.parametrize("change", [{"pi": 1}, {"y": 1}, {"nonce": 1}])
def test_any_change_is_rejected(honest, change):
    fields = {name: getattr(honest, name) + change.get(name, 0) for name in ("y", "pi", "nonce")}
    assert not vdf.verify(SEED, VdfProof(**fields), squarings=DELAY)


def test_out_of_range_fields_are_rejected(honest):
    assert not vdf.verify(SEED, VdfProof(honest.y, honest.pi + int(N), honest.nonce), squarings=DELAY)
    assert not vdf.verify(SEED, VdfProof(honest.y, honest.pi, MAX_NONCE), squarings=DELAY)
    assert not vdf.verify(SEED, VdfProof(honest.y, honest.pi, -1), squarings=DELAY)


def test_bytes_and_back(honest):
    assert VdfProof.from_bytes(honest.to_bytes()) == honest
    with pytest.raises(SettlementError, match="544 bytes"):
        VdfProof.from_bytes(honest.to_bytes()[:-1])


def test_progress_counts_every_squaring():
    heard = []
    vdf.evaluate(SEED, squarings=DELAY, progress=heard.append)
    assert heard[-1] == DELAY
    assert heard == sorted(heard)


@pytest.mark.parametrize("squarings", [0, -1, 263, 1 << 63])
def test_a_delay_out_of_range_is_refused(squarings):
    with pytest.raises(SettlementError, match="delay"):
        vdf.evaluate(SEED, squarings=squarings)
