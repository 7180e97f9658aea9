"""A curious or malicious buyer, with the secret key and the baseline, tries to read the update out of a reply.

Every attack runs against replies that hide less than the product's, which exist here only: they show that the attacks
work. `bare` is the sum of products, as the prototype returned it; `whole` has fresh encryption, but all of c0 leaves;
`unfresh` sends one coefficient of c0, but the sum's own c1.
"""

import hashlib

import numpy as np
import pytest
import tenseal.sealapi as sealapi

from martfl.scoring import SCORE_ERROR, ScoringKey, Sketch, ckks, cosine, hiding, score_under_encryption
from martfl.scoring.cosine import baseline_direction, update_direction
from martfl.scoring.seal import SEED_BYTES
from martfl.scoring.wire import HEADER_BYTES, Reader
from martfl.scoring.words import pack_words, unpack_words

REPLIES = 16  # correlations are averaged over this many replies: chance alone then stays below 0.05 by 9 sigma
LEAK, NO_LEAK = 0.6, 0.05


class Victim:
    """A baseline and a nearly orthogonal update, so that the score itself predicts nothing of it."""

    def __init__(self, blocks, sketched, normal):
        degree = (ckks.SKETCHED if sketched else ckks.EXACT).degree
        entries = blocks * degree
        self.sketch = Sketch(bytes(32), entries) if sketched else None
        self.size, self.ring = ckks.size_of(self.sketch), ckks.size_of(self.sketch).ring
        m = 3 * entries if sketched else entries
        self.baseline, self.update = normal(m, 1), normal(m, 2)
        self.key = ScoringKey.generate(self.sketch)
        self.message = self.key.encrypt_baseline(self.baseline)

    @property
    def secret(self):
        """What the attacker wants: the numbers that were multiplied with the baseline."""
        return update_direction(self.update, self.sketch).values

    @property
    def start(self):
        return HEADER_BYTES + SEED_BYTES + self.size.run_bytes

    def total(self, *, fresh):
        reader = Reader(self.message)
        reader.header()
        public = ckks.public_key(reader.take(SEED_BYTES + self.size.run_bytes), self.size)
        total, *rest = ckks.products(reader, update_direction(self.update, self.sketch), self.size)
        for item in [*rest, hiding.cover(self.ring, public)] if fresh else rest:
            self.ring.evaluator.add_inplace(total, item)
        return self.ring.ciphertext_words(total)  # (2·N,)

    def bare(self):
        return self.total(fresh=False)

    def whole(self):
        return self.total(fresh=True)

    def unfresh(self):
        words, n = self.bare(), self.ring.degree
        return np.concatenate([np.full(n, self.ring.constant(words[:n]), np.uint64), words[n:]])

    def product(self):
        """The product's reply: one coefficient of c0 and c1."""
        reply = score_under_encryption(self.message, self.update, sketch=self.sketch)
        constant = int.from_bytes(reply[HEADER_BYTES : HEADER_BYTES + 8], "little")
        body = reply[HEADER_BYTES + 8 : HEADER_BYTES + 8 + self.size.run_bytes]
        words = unpack_words(body, self.size.bits, self.ring.q)
        return np.concatenate([np.full(self.ring.degree, constant, np.uint64), words])

    def slots(self, plain):
        return np.array(self.ring.encoder.decode_complex(plain))  # (N/2,)

    def decrypted(self, words, key=None):
        plain = sealapi.Plaintext()
        secret = (key or self.key).secret
        sealapi.Decryptor(self.ring.context, secret).decrypt(self.ring.ciphertext(words), plain)
        return self.slots(plain)

    def baseline_slots(self):
        blocks = baseline_direction(self.baseline, self.sketch).blocks(self.ring.degree, scale=2.0**20)
        return np.stack(
            [self.slots(self.ring.encode(block, np.random.default_rng(0))) for block in blocks]
        )  # (blocks, N/2)

    def coefficients(self, slots):
        """The polynomial of these slots: every guess of an update ends here."""
        plain = sealapi.Plaintext()
        self.ring.encoder.encode((slots * 2.0**20 / np.abs(slots).max()).tolist(), 1.0, plain)
        item = self.ring.ciphertext(
            np.concatenate([self.ring.plaintext_words(plain), np.ones(len(slots) * 2, np.uint64)])
        )
        self.ring.evaluator.transform_from_ntt_inplace(item)
        words = self.ring.ciphertext_words(item)[: self.ring.degree].astype(np.int64)
        return np.where(words > self.ring.q // 2, words - self.ring.q, words)


def division(victim, words):
    """(i) Divide the baseline out of every slot."""
    return victim.coefficients(np.conj(victim.decrypted(words) / victim.baseline_slots()[0]))


def partial_sums(victim, words):
    """(ii) Take each slot's sum for what it is, and solve for the update of least norm."""
    rows = victim.baseline_slots()  # (blocks, N/2)
    found = np.conj(victim.decrypted(words) * np.conj(rows) / np.sum(np.abs(rows) ** 2, axis=0))
    return np.concatenate([victim.coefficients(row) for row in found])


def c1_quotient(victim, words):
    """(iii) c1 of a one-block reply is a·u, and a is known from the seed: divide."""
    ring, n = victim.ring, victim.ring.degree
    seed = victim.message[victim.start : victim.start + SEED_BYTES]
    a = ring.ciphertext_words(ring.seeded_ciphertext(np.ones(n, np.uint64), seed))[n:]
    quotient = [int(c) * pow(int(x), -1, ring.q) % ring.q for c, x in zip(words[n:], a, strict=True)]
    item = ring.ciphertext(np.concatenate([np.array(quotient, np.uint64), np.ones(n, np.uint64)]))
    ring.evaluator.transform_from_ntt_inplace(item)
    found = ring.ciphertext_words(item)[:n].astype(np.int64)  # u(1/X): coefficient k is −u of N−k
    found = np.where(found > ring.q // 2, found - ring.q, found)
    return np.concatenate([found[:1], -found[:0:-1]])


ATTACKS = [(division, 1), (partial_sums, 2), (c1_quotient, 1)]
SIDES = pytest.mark.parametrize("sketched", [False, True], ids=["exact", "sketched"])


def correlation(attack, victim, reply, times=REPLIES):
    """The mean correlation of the attack's guess with the secret over independent replies."""
    return abs(np.mean([signed(attack, victim, reply()) for _ in range(times)]))


def signed(attack, victim, words):
    return np.corrcoef(attack(victim, words), victim.secret)[0, 1]


@SIDES
@pytest.mark.parametrize(("attack", "blocks"), ATTACKS)
def test_the_attack_reads_a_bare_reply(normal, attack, blocks, sketched):
    victim = Victim(blocks, sketched, normal)
    assert correlation(attack, victim, victim.bare, times=1) > LEAK


@SIDES
def test_either_half_of_the_hiding_alone_is_not_enough(normal, sketched):
    victim = Victim(1, sketched, normal)
    assert correlation(division, victim, victim.whole, times=1) > LEAK
    assert correlation(c1_quotient, victim, victim.whole) < NO_LEAK
    others = [Victim(1, sketched, normal) for _ in range(REPLIES)]  # to one message, replies without freshness are one
    assert abs(np.mean([signed(division, other, other.unfresh()) for other in others])) < NO_LEAK
    assert correlation(c1_quotient, victim, victim.unfresh, times=1) > 0.99


@SIDES
@pytest.mark.parametrize(("attack", "blocks"), ATTACKS)
def test_the_attack_learns_nothing_from_a_reply(normal, attack, blocks, sketched):
    victim = Victim(blocks, sketched, normal)
    assert correlation(attack, victim, victim.product) < NO_LEAK


def forge_public(victim, public):
    """The same message with another public key, header and digest made to fit."""
    header = victim.message[: HEADER_BYTES - 32] + ckks.fingerprint_of(public)
    body = header + public + victim.message[victim.start : -32]
    victim.message = body + hashlib.sha256(body).digest()


@SIDES
@pytest.mark.parametrize("fill", [0, 1], ids=["zero", "one"])
def test_a_degenerate_public_key_does_not_open_c1(normal, fill, sketched):
    """The seed's half of the key is out of the buyer's hands, so any other half still gives fresh c1."""
    victim = Victim(1, sketched, normal)
    words = pack_words(np.full(victim.ring.degree, fill, np.uint64), victim.size.bits)
    forge_public(victim, victim.key.public[:SEED_BYTES] + words)
    for attack in (division, c1_quotient):
        assert correlation(attack, victim, victim.product) < NO_LEAK


@SIDES
def test_reusing_the_baseline_seed_for_the_public_key_does_not_open_c1(normal, sketched):
    victim = Victim(1, sketched, normal)
    seed = victim.message[victim.start : victim.start + SEED_BYTES]
    forge_public(victim, seed + victim.key.public[SEED_BYTES:])
    assert correlation(c1_quotient, victim, victim.product) < NO_LEAK


def test_a_chosen_baseline_tells_one_coordinate_and_not_its_neighbours(normal):
    """What remains: the buyer picks the direction. It learns that one number, to the error, and nothing beside it."""
    victim = Victim(1, False, normal)
    victim.baseline = np.zeros(victim.ring.degree)
    victim.baseline[7] = 1.0
    victim.message = victim.key.encrypt_baseline(victim.baseline)
    score = victim.key.decrypt_score(score_under_encryption(victim.message, victim.update))
    assert score == pytest.approx(cosine(victim.baseline, victim.update), abs=SCORE_ERROR)
    guesses = [victim.coefficients(victim.decrypted(victim.product())) for _ in range(REPLIES)]
    assert abs(np.mean([np.corrcoef(guess, victim.update)[0, 1] for guess in guesses])) < NO_LEAK


@SIDES
def test_replies_share_no_words(normal, sketched):
    victim = Victim(1, sketched, normal)
    first, second = victim.product(), victim.product()
    n = victim.ring.degree
    assert np.count_nonzero(first[n:] == second[n:]) <= 2


@SIDES
def test_a_provider_cannot_read_the_baseline_with_a_key_of_its_own(normal, sketched):
    victim = Victim(1, sketched, normal)
    chunk = victim.message[victim.start : -32]
    words = unpack_words(chunk[SEED_BYTES:], victim.size.bits, victim.ring.q)
    words = victim.ring.ciphertext_words(victim.ring.seeded_ciphertext(words, chunk[:SEED_BYTES]))
    baseline = baseline_direction(victim.baseline, victim.sketch).values
    mine = ScoringKey.generate(victim.sketch)
    assert abs(np.corrcoef(victim.coefficients(victim.decrypted(words)), baseline)[0, 1]) > 0.99
    assert abs(np.corrcoef(victim.coefficients(victim.decrypted(words, mine)), baseline)[0, 1]) < 0.1
