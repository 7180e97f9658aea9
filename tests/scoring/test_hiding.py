"""The three additions that hide, each by itself, and the parameters that they rest on."""

import numpy as np
import pytest
import tenseal.sealapi as sealapi

from martfl.scoring import ckks, hiding, seal
from martfl.scoring.seal import DEGREE


def constant_coefficient(words):
    q = seal.ring().q
    return sum(int(word) for word in words) * pow(DEGREE, -1, q) % q


def spread(words, modulus, cells=64):
    """Chi-square of the words over equal cells; its mean is cells − 1, its deviation √(2·(cells − 1)) ≈ 11."""
    counts = np.bincount((words.astype(float) / modulus * cells).astype(int), minlength=cells)
    expected = words.size / cells
    return float(((counts - expected) ** 2).sum() / expected)


def test_uniform_covers_the_range_evenly():
    for modulus in (2, 3, 97, seal.ring().q):
        draws = hiding.uniform(20_000, modulus)
        assert draws.size == 20_000
        assert int(draws.max()) < modulus
    assert spread(hiding.uniform(60_000, seal.ring().q), seal.ring().q) < 63 + 10 * 11


def test_the_mask_spares_the_target_and_covers_all_else():
    q = seal.ring().q
    masks = [hiding.mask(q) for _ in range(8)]
    assert [constant_coefficient(mask) for mask in masks] == [0] * 8
    assert all(int(mask.max()) < q for mask in masks)
    assert spread(np.concatenate(masks), q) < 63 + 10 * 11


def test_the_sum_of_values_is_seals_constant_coefficient():
    """The mask's formula against SEAL's own encoder: a real constant is that number in every slot."""
    plain = sealapi.Plaintext()
    seal.ring().encoder.encode([12345.0 + 0j] * (DEGREE // 2), seal.SCALE, plain)
    assert constant_coefficient(seal.plaintext_words(plain)) == 12345
    seal.ring().encoder.encode([12345j] * (DEGREE // 2), seal.SCALE, plain)
    assert constant_coefficient(seal.plaintext_words(plain)) == 0


def test_flooding_fills_its_range_and_stays_in_it():
    draws = np.array([hiding.flooding() for _ in range(20_000)])
    half = hiding.FLOOD // 2
    assert draws.min() >= -half
    assert draws.max() < half
    assert spread(draws + half, hiding.FLOOD) < 63 + 10 * 11


def test_a_target_carries_at_most_nineteen_bits():
    """The bound that the documentation states: log2 q − log2 FLOOD."""
    assert seal.ring().q / hiding.FLOOD < 2**19


def test_every_cover_is_fresh_and_decrypts_to_flooding_on_the_target(key):
    public = ckks._public_key(key.public)
    seen, targets = set(), []
    for _ in range(20):
        words = seal.ciphertext_words(hiding.cover(public))
        seen.add(words.tobytes())
        targets.append(key._target(words))
    assert len(seen) == 20
    assert len(set(targets)) > 15
    assert max(map(abs, targets)) < hiding.FLOOD // 2 + 10_000  # the encryption's own noise is far smaller


def test_seal_holds_the_ring_to_128_bits():
    """Our moduli pass SEAL's check; at this degree 110 bits would not."""
    assert sum(prime.bit_length() for prime in seal.ring().moduli) == 80
    assert sealapi.CoeffModulus.MaxBitCount(DEGREE, sealapi.SEC_LEVEL_TYPE.TC128) == 109
    parameters = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS)
    parameters.set_poly_modulus_degree(DEGREE)
    parameters.set_coeff_modulus(sealapi.CoeffModulus.Create(DEGREE, [55, 55]))
    assert not sealapi.SEALContext(parameters, True, sealapi.SEC_LEVEL_TYPE.TC128).parameters_set()


def test_words_travel_in_five_bytes():
    q, p = seal.ring().moduli
    words = np.concatenate([hiding.uniform(DEGREE, q), hiding.uniform(DEGREE, p)])
    words[0], words[-1] = q - 1, p - 1
    packed = seal.pack_words(words)
    assert len(packed) == 5 * words.size
    assert np.array_equal(seal.unpack_words(packed, (q, p)), words)


def test_keys_differ():
    first, second = ckks.ScoringKey.generate(), ckks.ScoringKey.generate()
    assert first.fingerprint != second.fingerprint
    assert first.public[: seal.SEED_BYTES] != second.public[: seal.SEED_BYTES]


def test_encrypting_twice_gives_other_bytes(key):
    first, second = (key.encrypt_baseline([1.0, 2.0])[-1000:-32] for _ in range(2))
    assert first != second


@pytest.mark.parametrize("m", [1, 4096, 4097, 50_000])
def test_sizes_on_the_wire(key, m):
    message = key.encrypt_baseline(np.ones(m))
    chunks = -(-m // DEGREE)
    assert len(message) == 68 + 64 + 2 * DEGREE * 5 + chunks * (64 + DEGREE * 5) + 32
    reply = ckks.score_under_encryption(message, np.ones(m))
    assert len(reply) == 68 + 2 * DEGREE * 5 + 32 < 50_000
