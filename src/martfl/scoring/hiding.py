"""What makes a reply say one number only.

An accumulated reply (c0, c1) decrypts to a polynomial whose constant coefficient is the scaled inner product; its other
coefficients, and c1 itself, depend on the update. Three additions take them away:

- a mask, uniform on every coefficient but the constant one: c0 keeps nothing but the target;
- a public-key encryption of zero, fresh randomness of the provider: c1 becomes an RLWE sample. The public key's uniform
  half comes from a seed, so this holds for whatever a malicious buyer sends as the other half;
- flooding, uniform over FLOOD values, on the target: it carries at most log2(q / FLOOD) = 19 bits about
  everything secret.

All randomness is the operating system's (`os.urandom`) or SEAL's (BLAKE2Xb seeded by the system).
"""

import os
import secrets
from typing import Any

import numpy as np
import tenseal.sealapi as sealapi

from martfl.scoring import seal
from martfl.scoring.seal import DEGREE, Words

FLOOD = 1 << 21  # in units of the target: ±2^20 / 2^38 = ±3.8e-6 of a cosine


def uniform(count: int, modulus: int) -> Words:
    """`count` residues, uniform below `modulus`: rejection, never a biased remainder."""
    ceiling = np.uint64((1 << modulus.bit_length()) - 1)
    found = np.empty(0, np.uint64)
    while found.size < count:
        draws = np.frombuffer(os.urandom(8 * (count + 64)), np.uint64) & ceiling
        found = np.concatenate([found, draws[draws < modulus]])
    return found[:count]  # (count,)


def mask(modulus: int) -> Words:
    """A uniform polynomial with constant coefficient 0, in NTT form.

    NTT values are the polynomial at all N primitive roots, so `p(0) = N⁻¹·Σ values`: subtracting the mean from uniform
    values makes it 0 and leaves the other N−1 coefficients uniform.
    """
    values = uniform(DEGREE, modulus)  # (N,)
    mean = int(values.sum()) * pow(DEGREE, -1, modulus) % modulus  # 2^12 words below 2^40: no overflow
    return (values + np.uint64(modulus - mean)) % np.uint64(modulus)


def flooding() -> int:
    """A uniform draw from the FLOOD values around 0."""
    return secrets.randbelow(FLOOD) - FLOOD // 2


def cover(public: Any) -> Any:
    """A fresh public-key encryption of mask and flooding: every reply starts from it; no bare sum exists."""
    ring, item = seal.ring(), sealapi.Ciphertext()
    constant = np.uint64(flooding() % ring.q)  # a constant polynomial has equal NTT values
    noise = seal.plaintext((mask(ring.q) + constant) % np.uint64(ring.q))
    with seal.refusing():
        sealapi.Encryptor(ring.context, public).encrypt_zero(list(ring.data_id), item)
        item.scale = seal.SCALE
        ring.evaluator.add_plain_inplace(item, noise)
    return item
