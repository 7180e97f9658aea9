"""What makes a reply say one number only.

An accumulated sum (c0, c1) decrypts to a polynomial whose constant coefficient is the scaled inner product; its other
coefficients, and c1 itself, depend on the update. Three things take them away:

- of c0 the constant coefficient alone is sent: nobody can decrypt a coefficient that never left;
- a public-key encryption of zero, fresh randomness of the provider: c1 becomes an RLWE sample. The public key's uniform
  half comes from a seed, so this holds for whatever a malicious buyer sends as the other half;
- flooding, uniform over q / 2^LEAK_BITS values, on the target: it carries at most LEAK_BITS bits of anything secret.

All randomness is the operating system's (`secrets`) or SEAL's (BLAKE2Xb seeded by the system).
"""

import secrets

import tenseal.sealapi as sealapi

from martfl.scoring import seal
from martfl.scoring.seal import Ring
from martfl.scoring.words import Words

LEAK_BITS = 17  # flooding then reaches 2^-16 = 1.5e-5 of a cosine to either side


def flood_values(ring: Ring) -> int:
    """Over how many values flooding is uniform."""
    return 1 << (ring.bits - LEAK_BITS)


def flooding(ring: Ring) -> int:
    """A uniform draw from the values around 0."""
    values = flood_values(ring)
    return secrets.randbelow(values) - values // 2


def cover(ring: Ring, public: sealapi.PublicKey) -> sealapi.Ciphertext:
    """A fresh public-key encryption of zero: every reply starts from it; no bare sum exists."""
    item = sealapi.Ciphertext()
    with seal.refusing():
        sealapi.Encryptor(ring.context, public).encrypt_zero(item)
    item.scale = seal.SCALE
    return item


def last_step(ring: Ring, item: sealapi.Ciphertext) -> tuple[int, Words]:
    """What leaves of a covered sum: the flooded constant coefficient of c0, and c1, (N,)."""
    words = ring.ciphertext_words(item)
    return (ring.constant(words[: ring.degree]) + flooding(ring)) % ring.q, words[ring.degree :]
