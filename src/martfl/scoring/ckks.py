"""The cosine under CKKS: one encrypted baseline to all providers, one ciphertext back from each.

Two parameters share a complex slot. With `g = a+ib` and the conjugate `u = c−id`, `Re(g·u) = ac+bd`, and the constant
coefficient of a product polynomial is the mean of its N embeddings (slots and their conjugates):

    coefficient 0 of Σ_chunks G·U = (2/N)·Σ_slots Re(g·u)·s_g·s_u = cos·2^38,  s_g = 2^21·√(N/2), s_u = 2^17·√(N/2)

which stays below q/2 = 2^39. Error (one sigma, of a cosine): encryption noise 3.2·2^-21, rounding of u 0.29·2^-17,
flooding 2^-18/√3; six sigma of the unbounded part and the flooding's bound are below SCORE_ERROR.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import tenseal.sealapi as sealapi
from numpy.typing import ArrayLike, NDArray

from martfl.scoring import hiding, seal
from martfl.scoring.cosine import SCORE_ERROR, Direction, direction
from martfl.scoring.errors import MessageError, ReplyError
from martfl.scoring.seal import DEGREE, SEED_BYTES, WORD_BYTES
from martfl.scoring.sender import Sender
from martfl.scoring.wire import Header, Kind, Message, Reader, Scheme, require, sealed

BASELINE_SCALE = 2.0**21 * math.sqrt(DEGREE / 2)
UPDATE_SCALE = 2.0**17 * math.sqrt(DEGREE / 2)
TARGET_SCALE = 2.0**38  # (2/N)·BASELINE_SCALE·UPDATE_SCALE
RUN_BYTES = DEGREE * WORD_BYTES  # one polynomial modulo one prime
PUBLIC_BYTES = SEED_BYTES + 2 * RUN_BYTES


def _header(kind: Kind, length: int, fingerprint: bytes) -> Header:
    return Header(kind, Scheme.CKKS, DEGREE, seal.ring().moduli, length, fingerprint)


def fingerprint_of(public: bytes) -> bytes:
    """The name of a key: SHA-256 of its public part."""
    return hashlib.sha256(public).digest()


def encode(block: NDArray[np.float64], *, conjugate: bool = False) -> Any:
    """A block of at most N scaled numbers as one plaintext: the first N/2 real parts, the others imaginary."""
    half = DEGREE // 2
    slots = np.zeros(half, np.complex128)  # (N/2,)
    slots.real[: block.size] = block[:half]
    slots.imag[: max(0, block.size - half)] = -block[half:] if conjugate else block[half:]
    plain = sealapi.Plaintext()
    seal.ring().encoder.encode(slots.tolist(), seal.SCALE, plain)
    return plain


@dataclass(frozen=True, eq=False, repr=False)
class ScoringKey(Sender):
    """The acquirer's key, one per epoch. Whoever holds it can read baselines; `repr` shows its name only."""

    secret: Any  # SEAL's secret key
    public: bytes  # (PUBLIC_BYTES,): seed ‖ b mod q ‖ b mod p; travels with every baseline

    @classmethod
    def generate(cls) -> Self:
        """A fresh key. Its public part is a seeded encryption of zero at key level, so that `a` is nobody's choice."""
        ring = seal.ring()
        secret = sealapi.KeyGenerator(ring.context).secret_key()
        zero = sealapi.Encryptor(ring.context, secret).encrypt_zero_symmetric(list(ring.key_id))
        words, seed = seal.seeded_parts(zero, primes=2)
        return cls(secret, seed + seal.pack_words(words))

    @property
    def fingerprint(self) -> bytes:
        """The key's name, 32 bytes; public."""
        return fingerprint_of(self.public)

    def __repr__(self) -> str:
        return f"ScoringKey({self.fingerprint.hex()[:16]})"

    def _baseline(self, baseline: Direction) -> Iterator[bytes]:
        encryptor = sealapi.Encryptor(seal.ring().context, self.secret)
        yield _header(Kind.BASELINE, baseline.size, self.fingerprint).pack()
        yield self.public
        for block in baseline.blocks(DEGREE, scale=BASELINE_SCALE):
            words, seed = seal.seeded_parts(encryptor.encrypt_symmetric(encode(block)))
            yield seed + seal.pack_words(words)

    def decrypt_score(self, reply: Message, *, parameters: int | None = None) -> float:
        """The cosine in a provider's reply; `parameters` additionally pins the model's length."""
        reader = Reader(reply)
        header = reader.header()
        length = header.length if parameters is None else parameters
        require(header, wanted=_header(Kind.REPLY, length, self.fingerprint))
        words = seal.unpack_words(reader.take(2 * RUN_BYTES), (seal.ring().q,) * 2)
        reader.finish()
        score = self._target(words) / TARGET_SCALE
        if abs(score) > 1.0 + SCORE_ERROR:
            raise ReplyError("a reply must decrypt to a cosine, a number in [-1, 1]")
        return min(1.0, max(-1.0, score))

    def _target(self, words: seal.Words) -> int:
        """The constant coefficient of the decrypted polynomial, centred around 0."""
        ring, plain = seal.ring(), sealapi.Plaintext()
        item = seal.ciphertext(words)
        with seal.refusing():
            sealapi.Decryptor(ring.context, self.secret).decrypt(item, plain)
        total = int(seal.plaintext_words(plain).sum()) * pow(DEGREE, -1, ring.q) % ring.q
        return total - ring.q if total > ring.q // 2 else total

    def to_bytes(self) -> bytes:
        """The whole key, secret included, for the acquirer's own journal; never to be sent."""
        secret = seal.pack_words(seal.plaintext_words(self.secret, primes=2))
        return b"".join(sealed([_header(Kind.SECRET, 0, self.fingerprint).pack(), secret, self.public]))

    @classmethod
    def from_bytes(cls, raw: Message) -> Self:
        """The key that `to_bytes` gave."""
        reader = Reader(raw)
        header = reader.header()
        require(header, wanted=_header(Kind.SECRET, 0, header.fingerprint))
        words = seal.unpack_words(reader.take(2 * RUN_BYTES), seal.ring().moduli)
        public = _take_public(reader, header)
        reader.finish()
        return cls(seal.secret_key(words), public)


def _take_public(reader: Reader, header: Header) -> bytes:
    public = reader.take(PUBLIC_BYTES)
    if fingerprint_of(public) != header.fingerprint:
        raise MessageError("the message's public key must be the one that its header names")
    return public


def _public_key(public: bytes) -> Any:
    words = seal.unpack_words(public[SEED_BYTES:], seal.ring().moduli)
    return seal.public_key(words, public[:SEED_BYTES])


def products(reader: Reader, update: Direction) -> Iterator[Any]:
    """The encrypted baseline times the update, chunk by chunk."""
    ring = seal.ring()
    with seal.memory_file() as file:  # one for all chunks: making it costs as much as reading a chunk
        for block in update.blocks(DEGREE, scale=UPDATE_SCALE):
            seed = reader.take(SEED_BYTES)
            item = seal.seeded_ciphertext(seal.unpack_words(reader.take(RUN_BYTES), (ring.q,)), seed, file)
            plain = encode(block, conjugate=True)
            if plain.is_zero():  # contributes nothing, and SEAL refuses to make the transparent ciphertext
                continue
            with seal.refusing():
                ring.evaluator.multiply_plain_inplace(item, plain)
            yield item


def score_under_encryption(message: Message, update: ArrayLike) -> bytes:
    """The provider's side: a reply that tells the key's holder the cosine of `update` with its baseline, no more.

    Answer one baseline per key and update: every further reply tells the buyer a further number.
    """
    mine = direction(update)
    reader = Reader(message)
    header = reader.header()
    require(header, wanted=_header(Kind.BASELINE, mine.size, header.fingerprint))
    total = hiding.cover(_public_key(_take_public(reader, header)))
    for item in products(reader, mine):
        seal.ring().evaluator.add_inplace(total, item)
    reader.finish()
    body = seal.pack_words(seal.ciphertext_words(total))
    return b"".join(sealed([_header(Kind.REPLY, mine.size, header.fingerprint).pack(), body]))
