"""What hides, each by itself, and the parameters that it rests on."""

import math

import numpy as np
import pytest
import tenseal.sealapi as sealapi

from martfl.scoring import SCORE_ERROR, ScoringKey, Sketch, ckks, hiding, score_under_encryption
from martfl.scoring.ckks import EXACT, SKETCHED
from martfl.scoring.cosine import baseline_direction, update_direction
from martfl.scoring.seal import SEED_BYTES
from martfl.scoring.wire import HEADER_BYTES
from martfl.scoring.words import pack_words, packed_bytes, unpack_words

SIZES = pytest.mark.parametrize("size", [EXACT, SKETCHED], ids=["exact", "sketched"])
NOISE = 3.2  # standard deviation of SEAL's encryption noise


def sketch_for(size, entries):
    return Sketch(bytes(32), entries) if size is SKETCHED else None


def key_for(size, entries=2048):
    return ScoringKey.generate(sketch_for(size, entries))


def spread(values, modulus, cells=64):
    """Chi-square of the values over equal cells; its mean is cells − 1, its deviation √(2·(cells − 1)) ≈ 11."""
    counts = np.bincount((values.astype(float) / modulus * cells).astype(int), minlength=cells)
    expected = values.size / cells
    return float(((counts - expected) ** 2).sum() / expected)


@SIZES
def test_numbers_stand_in_the_coefficients(size):
    """The encoder against integer arithmetic: constant coefficients, and that of g(X)·u(1/X), are exact."""
    ring, rng = size.ring, np.random.default_rng(0)
    g, u = rng.integers(-1000, 1000, (2, size.degree)).astype(float)
    assert ring.constant(ring.plaintext_words(ring.encode(g, rng))) == int(g[0]) % ring.q
    words = (ring.plaintext_words(ring.encode(g, rng)), ring.plaintext_words(ring.encode(u, rng, conjugate=True)))
    product = sum(int(x) * int(y) for x, y in zip(*words, strict=True)) * pow(size.degree, -1, ring.q) % ring.q
    assert product == int(g @ u) % ring.q


@SIZES
def test_a_short_block_is_filled_up_with_zeros(size):
    ring, rng = size.ring, np.random.default_rng(0)
    whole = np.zeros(size.degree)
    whole[:3] = [5.0, -2.0, 7.0]
    same = ring.plaintext_words(ring.encode(whole[:3], rng)) == ring.plaintext_words(ring.encode(whole, rng))
    assert same.all()


def test_rounding_is_right_on_average():
    """Else a vector of equal numbers would err in all of them alike."""
    ring, rng = EXACT.ring, np.random.default_rng(0)
    found = [ring.constant(ring.plaintext_words(ring.encode(np.array([3.25]), rng))) for _ in range(400)]
    assert set(found) == {3, 4}
    assert np.mean(found) == pytest.approx(3.25, abs=0.11)  # five sigma


@SIZES
def test_flooding_fills_its_range_and_stays_in_it(size):
    draws = np.array([hiding.flooding(size.ring) for _ in range(20_000)])
    values = hiding.flood_values(size.ring)
    assert draws.min() >= -values // 2
    assert draws.max() < values // 2
    assert spread(draws + values // 2, values) < 63 + 10 * 11


@SIZES
def test_a_target_carries_at_most_seventeen_bits(size):
    """The bound that the documentation states: log2 q − log2 of the flooding's values."""
    assert size.ring.q / hiding.flood_values(size.ring) <= 2**17


@SIZES
def test_the_error_holds_five_sigma_of_noise_beyond_the_flooding(size):
    rounding = math.sqrt(1 / 6) / size.update_scale if size is EXACT else 0.0
    sigma = math.hypot(NOISE * size.update_scale / size.target, rounding)
    assert 5 * sigma + hiding.flood_values(size.ring) / 2 / size.target < SCORE_ERROR


def unflooded(key, message, update):
    """The buyer's view without flooding and fresh randomness: what is fixed by the update and the message alone."""
    size = ckks.size_of(key.sketch)
    reader = ckks.Reader(message)
    reader.header()
    reader.take(SEED_BYTES + size.run_bytes)
    total, *rest = ckks.products(reader, update_direction(update, key.sketch), size)
    for item in rest:
        size.ring.evaluator.add_inplace(total, item)
    words = size.ring.ciphertext_words(total)
    return key.phase(size.ring.constant(words[: size.degree]), words[size.degree :])


@SIZES
def test_two_updates_of_one_score_are_hard_to_tell_apart(size, normal):
    """Total variation of two flooded targets that are d apart: d / values. It was 0.3; it is a few percent.

    The rest of the reply is the same for both, so this is all that replies of equal score differ by.
    """
    key = key_for(size, entries=8192)
    g = normal(20_000, 0)
    message, target, found = key.encrypt_baseline(g), baseline_direction(g, key.sketch), []
    for seed in range(1, 41):
        first, second = ({"u": u, "s": exact_target(target, u, key)} for u in normal(40_000, seed).reshape(2, -1))
        gap = unflooded(key, message, first["u"]) - unflooded(key, message, second["u"])
        found.append(abs(gap - (first["s"] - second["s"])) / hiding.flood_values(size.ring))
    assert np.mean(found) < 0.05
    assert max(found) < 0.3


def exact_target(target, update, key):
    """The scaled score of an update without any noise."""
    size, mine = ckks.size_of(key.sketch), update_direction(update, key.sketch)
    pairs = zip(target.blocks(4096), mine.blocks(4096), strict=True)
    return size.target * math.fsum(float(x @ y) for x, y in pairs)


@SIZES
def test_every_cover_is_fresh_and_decrypts_to_flooding_on_the_target(size):
    key = key_for(size)
    public = ckks.public_key(key.public, size)
    seen, targets = set(), []
    for _ in range(20):
        constant, words = hiding.last_step(size.ring, hiding.cover(size.ring, public))
        seen.add(words.tobytes())
        targets.append(key.phase(constant, words))
    assert len(seen) == 20
    assert len(set(targets)) > 15
    assert (
        max(map(abs, targets)) < hiding.flood_values(size.ring) // 2 + 10_000
    )  # the encryption's noise is far smaller


@SIZES
def test_seal_holds_the_ring_to_128_bits(size):
    """Our moduli pass SEAL's check with room to spare."""
    assert size.ring.q.bit_length() == size.bits
    assert size.bits < sealapi.CoeffModulus.MaxBitCount(size.degree, sealapi.SEC_LEVEL_TYPE.TC128)
    parameters = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS)
    parameters.set_poly_modulus_degree(2048)
    parameters.set_coeff_modulus(sealapi.CoeffModulus.Create(2048, [55]))
    assert not sealapi.SEALContext(parameters, True, sealapi.SEC_LEVEL_TYPE.TC128).parameters_set()


@pytest.mark.parametrize("bits", [8, 37, 40, 44, 57])
def test_words_travel_in_as_many_bits_as_they_need(bits):
    words = np.random.default_rng(bits).integers(0, 1 << bits, 2048, dtype=np.uint64)
    words[0], words[-1] = (1 << bits) - 1, (1 << bits) - 1
    packed = pack_words(words, bits)
    assert len(packed) == packed_bytes(2048, bits) == 256 * bits
    assert np.array_equal(unpack_words(packed, bits, 1 << bits), words)
    number = sum(int(word) << (position * bits) for position, word in enumerate(words))
    assert int.from_bytes(packed, "little") == number


def test_keys_differ():
    first, second = ScoringKey.generate(), ScoringKey.generate()
    assert first.fingerprint != second.fingerprint
    assert first.public[:SEED_BYTES] != second.public[:SEED_BYTES]


def test_encrypting_twice_gives_other_bytes(key):
    first, second = (key.encrypt_baseline([1.0, 2.0])[-1000:-32] for _ in range(2))
    assert first != second


@pytest.mark.parametrize("m", [1, 4096, 4097, 50_000])
def test_sizes_on_the_wire(key, m):
    message = key.encrypt_baseline(np.ones(m))
    blocks = -(-m // 4096)
    assert len(message) == HEADER_BYTES + (1 + blocks) * (64 + 4096 * 44 // 8) + 32
    assert len(score_under_encryption(message, np.ones(m))) == HEADER_BYTES + 8 + 4096 * 44 // 8 + 32 < 23_000


@pytest.mark.parametrize("m", [200_000, 1_000_000])
def test_a_sketch_takes_the_same_bytes_whatever_the_model(m):
    sketch = Sketch(bytes(32), 65_536)
    message = ScoringKey.generate(sketch).encrypt_baseline(np.ones(m))
    assert len(message) == HEADER_BYTES + 33 * (64 + 2048 * 37 // 8) + 32 < 316_000
    reply = score_under_encryption(message, np.ones(m), sketch=sketch)
    assert len(reply) == HEADER_BYTES + 8 + 2048 * 37 // 8 + 32 < 10_000
