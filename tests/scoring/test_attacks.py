"""A curious or malicious buyer, with the secret key and the baseline, tries to read the update out of a reply.

Every attack runs against three replies: bare (the sum of products, as the prototype returned it), masked without fresh
encryption, and the product's own. The first two exist here only; they show that the attacks work.
"""

import hashlib

import numpy as np
import pytest
import tenseal.sealapi as sealapi

from martfl.scoring import SCORE_ERROR, ScoringKey, ckks, cosine, hiding, score_under_encryption, seal
from martfl.scoring.cosine import direction
from martfl.scoring.seal import DEGREE, SEED_BYTES
from martfl.scoring.wire import HEADER_BYTES, Reader

REPLIES = 16  # correlations are averaged over this many replies: chance alone then stays below 0.05 by 12 sigma
LEAK, NOTHING = 0.6, 0.05


def bare(message, update):
    """What a provider would send without any hiding: c0 and c1 of Σ baseline·update."""
    reader = Reader(message)
    reader.header()
    reader.take(ckks.PUBLIC_BYTES)
    total, *rest = ckks.products(reader, direction(update))
    for item in rest:
        seal.ring().evaluator.add_inplace(total, item)
    return seal.ciphertext_words(total)  # (2·N,)


def masked_only(message, update):
    """The mask alone: hides the decrypted polynomial, forgets c1."""
    words, q = bare(message, update), np.uint64(seal.ring().q)
    return np.concatenate([(words[:DEGREE] + hiding.mask(int(q))) % q, words[DEGREE:]])


def hidden(message, update):
    """The product's reply."""
    body = score_under_encryption(message, update)[HEADER_BYTES : HEADER_BYTES + 2 * ckks.RUN_BYTES]
    return seal.unpack_words(body, (seal.ring().q,) * 2)


def slots_of(plain):
    return np.array(seal.ring().encoder.decode_complex(plain))  # (N/2,)


def decrypted(key, words):
    plain = sealapi.Plaintext()
    sealapi.Decryptor(seal.ring().context, key.secret).decrypt(seal.ciphertext(words), plain)
    return slots_of(plain)


def packed(vector):
    """A vector as rows of complex slots, as the acquirer packs its baseline."""
    rows = np.zeros((-(-vector.size // DEGREE), DEGREE))
    rows.flat[: vector.size] = vector
    return rows[:, : DEGREE // 2] + 1j * rows[:, DEGREE // 2 :]  # (chunks, N/2)


def unpacked(rows):
    return np.concatenate([rows.real, rows.imag], axis=-1).reshape(-1)


def division(key, message, words, baseline):
    """(i) Divide the baseline out of every slot."""
    return unpacked(np.conj(decrypted(key, words) / packed(baseline)[0]))


def partial_sums(key, message, words, baseline):
    """(ii) Take each slot's sum for what it is, and solve for the update of least norm."""
    rows = packed(baseline)  # (chunks, N/2)
    return unpacked(np.conj(decrypted(key, words) * np.conj(rows) / np.sum(np.abs(rows) ** 2, axis=0)))


def c1_quotient(key, message, words, baseline):
    """(iii) c1 of a one-chunk reply is a·u, and a is known from the seed: divide."""
    start = HEADER_BYTES + ckks.PUBLIC_BYTES
    seeded = seal.seeded_ciphertext(np.ones(DEGREE, np.uint64), message[start : start + SEED_BYTES])
    q, a = seal.ring().q, seal.ciphertext_words(seeded)[DEGREE:]
    quotient = [int(c) * pow(int(x), -1, q) % q for c, x in zip(words[DEGREE:], a, strict=True)]
    return unpacked(np.conj(slots_of(seal.plaintext(np.array(quotient, np.uint64)))))


ATTACKS = [(division, DEGREE), (partial_sums, 2 * DEGREE), (c1_quotient, DEGREE)]


def correlation(attack, reply, key, message, baseline, update, times=REPLIES):
    """The mean correlation of the attack's guess with the update over independent replies."""
    found = [attack(key, message, reply(message, update), baseline) for _ in range(times)]
    return abs(np.mean([np.corrcoef(guess, update)[0, 1] for guess in found]))


@pytest.fixture(scope="module")
def victim(normal):
    """`victim(m)`: a baseline and a nearly orthogonal update, so that the score itself predicts nothing of it."""
    return lambda m: (normal(m, 1), normal(m, 2))


@pytest.mark.parametrize(("attack", "m"), ATTACKS)
def test_the_attack_reads_a_bare_reply(key, victim, attack, m):
    g, u = victim(m)
    assert correlation(attack, bare, key, key.encrypt_baseline(g), g, u, times=1) > LEAK


def test_the_mask_alone_stops_the_slots_but_not_c1(key, victim):
    g, u = victim(DEGREE)
    message = key.encrypt_baseline(g)
    assert correlation(division, masked_only, key, message, g, u) < NOTHING
    assert correlation(c1_quotient, masked_only, key, message, g, u, times=1) > 0.99


@pytest.mark.parametrize(("attack", "m"), ATTACKS)
def test_the_attack_learns_nothing_from_a_reply(key, victim, attack, m):
    g, u = victim(m)
    assert correlation(attack, hidden, key, key.encrypt_baseline(g), g, u) < NOTHING


def forged_public(message, public):
    """The same message with another public key, header and digest made to fit."""
    header = message[: HEADER_BYTES - 32] + ckks.fingerprint_of(public)
    body = header + public + message[HEADER_BYTES + ckks.PUBLIC_BYTES : -32]
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize("fill", [0, 1], ids=["zero", "one"])
def test_a_degenerate_public_key_does_not_open_c1(key, victim, fill):
    """The seed's half of the key is out of the buyer's hands, so any other half still gives fresh c1."""
    g, u = victim(DEGREE)
    words = seal.pack_words(np.full(2 * DEGREE, fill, np.uint64))
    message = forged_public(key.encrypt_baseline(g), key.public[:SEED_BYTES] + words)
    for attack in (division, c1_quotient):
        assert correlation(attack, hidden, key, message, g, u) < NOTHING


def test_reusing_the_baseline_seed_for_the_public_key_does_not_open_c1(key, victim):
    g, u = victim(DEGREE)
    message = key.encrypt_baseline(g)
    start = HEADER_BYTES + ckks.PUBLIC_BYTES
    message = forged_public(message, message[start : start + SEED_BYTES] + key.public[SEED_BYTES:])
    assert correlation(c1_quotient, hidden, key, message, g, u) < NOTHING


def test_a_chosen_baseline_tells_one_coordinate_and_not_its_neighbours(key, victim):
    """What remains: the buyer picks the direction. It learns that one number, to the error, and nothing beside it."""
    _, u = victim(DEGREE)
    g = np.zeros(DEGREE)
    g[7] = 1.0
    message = key.encrypt_baseline(g)
    assert key.decrypt_score(score_under_encryption(message, u)) == pytest.approx(cosine(g, u), abs=SCORE_ERROR)
    guesses = [unpacked(decrypted(key, hidden(message, u))) for _ in range(REPLIES)]
    assert abs(np.mean([np.corrcoef(guess, u)[0, 1] for guess in guesses])) < NOTHING


def test_replies_share_no_words(key, victim):
    g, u = victim(100)
    message = key.encrypt_baseline(g)
    first, second = hidden(message, u), hidden(message, u)
    assert np.count_nonzero(first == second) <= 2


def test_a_provider_cannot_read_the_baseline_with_a_key_of_its_own(key, victim):
    g, _ = victim(DEGREE)
    message, mine = key.encrypt_baseline(g), ScoringKey.generate()
    chunk = message[HEADER_BYTES + ckks.PUBLIC_BYTES : -32]
    item = seal.seeded_ciphertext(seal.unpack_words(chunk[SEED_BYTES:], (seal.ring().q,)), chunk[:SEED_BYTES])
    words = seal.ciphertext_words(item)
    assert abs(np.corrcoef(unpacked(decrypted(key, words)), g)[0, 1]) > 0.99
    assert abs(np.corrcoef(unpacked(decrypted(mine, words)), g)[0, 1]) < 0.1
