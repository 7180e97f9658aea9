"""The cosine under CKKS: one encrypted baseline to all providers, one small message back from each.

A block of N numbers stands in the coefficients of a polynomial g(X), the provider's in those of u(1/X):

    coefficient 0 of Σ_blocks g(X)·u(1/X) = Σ g_i·u_i = cos·T,   ‖g‖ = T/s, ‖u‖ = s, T = 2^(bits of q − 2)

so that any cosine and its noise stay within ±q/2. Error, of a cosine, one sigma: encryption noise 3.2·s/T, and rounding
of u 0.4/s, which a sketch does not have, since its entries are integers already. Five sigma of these beyond the
flooding's bound 2^-16 are below SCORE_ERROR.
"""

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import tenseal.sealapi as sealapi

from martfl.scoring import hiding, seal
from martfl.scoring.cosine import most_score, update_direction
from martfl.scoring.direction import Direction, VectorLike
from martfl.scoring.errors import ReplyError, ScoreMessageError
from martfl.scoring.seal import SEED_BYTES, Ring
from martfl.scoring.sender import Sender
from martfl.scoring.sketch import NORM, Sketch
from martfl.scoring.wire import Kind, Message, MessageHeader, Reader, Scheme, header_of, require, sealed
from martfl.scoring.words import Words, pack_words, packed_bytes, unpack_words

_CONSTANT = struct.Struct("<Q")  # c0's constant coefficient in a reply


@dataclass(frozen=True)
class RingSize:
    """A ring, and how long the update's vector is in it.

    T = 2^(bits − 2): what a cosine of 1 is in the plaintext

    Examples:
        >>> EXACT.target == 2.0**42, EXACT.run_bytes
        (True, 22528)
    """

    degree: int  # N: numbers to a ciphertext
    bits: int  # of the modulus q; SEAL allows 54 at N = 2048 and 109 at N = 4096 for 128-bit security
    update_scale: float  # s

    @property
    def ring(self) -> Ring:
        """SEAL's objects."""
        return seal.ring(self.degree, self.bits)

    @property
    def target(self) -> float:
        """T: what a cosine of 1 is in the plaintext."""
        return 2.0 ** (self.bits - 2)

    @property
    def run_bytes(self) -> int:
        """One polynomial on the wire."""
        return packed_bytes(self.degree, self.bits)


EXACT = RingSize(4096, 44, 2.0**19)
SKETCHED = RingSize(2048, 37, NORM)


def size_of(sketch: Sketch | None) -> RingSize:
    """The size for whole vectors, or for sketches.

    Examples:
        >>> size_of(None) == size_of(Sketch(bytes(32), 1024))
        False
    """
    return EXACT if sketch is None else SKETCHED


def _header(kind: Kind, fingerprint: bytes, *, length: int, sketch: Sketch | None) -> MessageHeader:
    size = size_of(sketch)
    ring = {"ring": size.degree, "modulus": size.ring.q}
    return header_of(kind, Scheme.CKKS, fingerprint, length=length, sketch=sketch, **ring)


def fingerprint_of(public: bytes) -> bytes:
    """The name of a key: SHA-256 of its public part.

    Examples:
        >>> len(fingerprint_of(b'a public key'))
        32
    """
    return hashlib.sha256(public).digest()


@dataclass(frozen=True, eq=False, repr=False)
class ScoringKey(Sender):
    """The acquirer's key, one per epoch. Whoever holds it can read baselines; `repr` shows its name only.

    Examples:
        >>> key = ScoringKey.generate()
        >>> reply = score_under_encryption(key.encrypt_baseline([1.0, 0.0]), [3.0, 4.0])
        >>> restored = ScoringKey.from_bytes(key.to_bytes())
        >>> restored.fingerprint == key.fingerprint, round(restored.decrypt_score(reply, parameters=2), 4)
        (True, 0.6)
    """

    secret: sealapi.SecretKey
    public: bytes  # seed ‖ b; travels with every baseline
    sketch: Sketch | None = None

    @classmethod
    def generate(cls, sketch: Sketch | None = None) -> Self:
        """A fresh key. Its public part is a seeded encryption of zero, so that `a` is nobody's choice."""
        ring = size_of(sketch).ring
        secret = sealapi.KeyGenerator(ring.context).secret_key()
        words, seed = ring.seeded_parts(sealapi.Encryptor(ring.context, secret).encrypt_zero_symmetric())
        return cls(secret, seed + pack_words(words, ring.bits), sketch)

    @property
    def fingerprint(self) -> bytes:
        """The key's name, 32 bytes; public."""
        return fingerprint_of(self.public)

    def __repr__(self) -> str:
        return f"ScoringKey({self.fingerprint.hex()[:16]})"

    def _baseline(self, baseline: Direction) -> Iterator[bytes]:
        size = size_of(self.sketch)
        ring, scale = size.ring, size.target / size.update_scale
        encryptor, rng = sealapi.Encryptor(ring.context, self.secret), np.random.default_rng()
        yield _header(Kind.BASELINE, self.fingerprint, length=baseline.parameters, sketch=self.sketch).pack()
        yield self.public
        for block in baseline.blocks(ring.degree, scale=scale):
            words, seed = ring.seeded_parts(encryptor.encrypt_symmetric(ring.encode(block, rng)))
            yield seed + pack_words(words, ring.bits)

    def decrypt_score(self, reply: Message, *, parameters: int | None = None) -> float:
        """The cosine in a provider's reply; `parameters` additionally pins the model's length."""
        size, reader = size_of(self.sketch), Reader(reply)
        header = reader.header()
        length = header.length if parameters is None else parameters
        require(header, wanted=_header(Kind.REPLY, self.fingerprint, length=length, sketch=self.sketch))
        (constant,) = _CONSTANT.unpack(reader.take(_CONSTANT.size))
        words = unpack_words(reader.take(size.run_bytes), size.bits, size.ring.q)
        reader.finish()
        if constant >= size.ring.q:
            raise ScoreMessageError("every word of a message must be a residue below its modulus")
        score = self.phase(constant, words) / size.target
        if abs(score) > most_score(self.sketch):
            raise ReplyError("a reply must decrypt to a cosine, a number in [-1, 1]")
        return min(1.0, max(-1.0, score))

    def phase(self, constant: int, words: Words) -> int:
        """The constant coefficient of c0 + c1·s, centred around 0: the scaled cosine and its noise."""
        ring, plain = size_of(self.sketch).ring, sealapi.Plaintext()
        item = ring.ciphertext(np.concatenate([np.full(ring.degree, constant, np.uint64), words]))
        with seal.refusing():
            sealapi.Decryptor(ring.context, self.secret).decrypt(item, plain)
        total = ring.constant(ring.plaintext_words(plain))
        return total - ring.q if total > ring.q // 2 else total

    def to_bytes(self) -> bytes:
        """The whole key, secret included, for the acquirer's own journal; never to be sent."""
        ring = size_of(self.sketch).ring
        header = _header(Kind.SECRET, self.fingerprint, length=0, sketch=self.sketch).pack()
        secret = pack_words(ring.plaintext_words(self.secret), ring.bits)
        return b"".join(sealed([header, secret, self.public]))

    @classmethod
    def from_bytes(cls, raw: Message, sketch: Sketch | None = None) -> Self:
        """The key that `to_bytes` gave."""
        reader, size = Reader(raw), size_of(sketch)
        header = reader.header()
        require(header, wanted=_header(Kind.SECRET, header.fingerprint, length=0, sketch=sketch))
        words = unpack_words(reader.take(size.run_bytes), size.bits, size.ring.q)
        public = _take_public(reader, header, size)
        reader.finish()
        return cls(size.ring.secret_key(words), public, sketch)


def _take_public(reader: Reader, header: MessageHeader, size: RingSize) -> bytes:
    public = reader.take(SEED_BYTES + size.run_bytes)
    if fingerprint_of(public) != header.fingerprint:
        raise ScoreMessageError("the message's public key must be the one that its header names")
    return public


def public_key(public: bytes, size: RingSize) -> sealapi.PublicKey:
    """SEAL's key from the public part of a message.

    Examples:
        >>> key, size = ScoringKey.generate(), size_of(None)
        >>> size.ring.context.parameters_set(), type(public_key(key.public, size)).__name__
        (True, 'PublicKey')
    """
    words = unpack_words(public[SEED_BYTES:], size.bits, size.ring.q)
    return size.ring.public_key(words, public[:SEED_BYTES])


def products(reader: Reader, update: Direction, size: RingSize) -> Iterator[sealapi.Ciphertext]:
    """The encrypted baseline times the update, block by block.

    Σ_b g_b(X)·u_b(1/X): the constant coefficient of the sum is ⟨g, u⟩

    Examples:
        >>> key, size = ScoringKey.generate(), size_of(None)
        >>> reader = Reader(key.encrypt_baseline([1.0, 0.0]))
        >>> _ = reader.header(), reader.take(len(key.public))
        >>> len(list(products(reader, update_direction([3.0, 4.0], None), size)))
        1
    """
    ring, rng = size.ring, np.random.default_rng()
    with seal.memory_file() as file:  # one for all blocks: making it costs as much as reading a block
        for block in update.blocks(ring.degree, scale=size.update_scale):
            seed = reader.take(SEED_BYTES)
            item = ring.seeded_ciphertext(unpack_words(reader.take(size.run_bytes), ring.bits, ring.q), seed, file)
            plain = ring.encode(block, rng, conjugate=True)
            if plain.is_zero():  # contributes nothing, and SEAL refuses to make the transparent ciphertext
                continue
            with seal.refusing():
                ring.evaluator.multiply_plain_inplace(item, plain)
            yield item


def score_under_encryption(message: Message, update: VectorLike, *, sketch: Sketch | None = None) -> bytes:
    """The provider's side: a reply that tells the key's holder the cosine of `update` with its baseline, no more.

    Answer one baseline per key and update: every further reply tells the buyer a further number.

    score = ⟨u, g⟩ / (‖u‖·‖g‖), with g encrypted and u in the clear

    Examples:
        >>> key = ScoringKey.generate()
        >>> reply = score_under_encryption(key.encrypt_baseline([1.0, 0.0]), [3.0, 4.0])
        >>> round(key.decrypt_score(reply), 4)
        0.6
    """
    mine, size, reader = update_direction(update, sketch), size_of(sketch), Reader(message)
    header = reader.header()
    require(header, wanted=_header(Kind.BASELINE, header.fingerprint, length=mine.parameters, sketch=sketch))
    total = hiding.cover(size.ring, public_key(_take_public(reader, header, size), size))
    for item in products(reader, mine, size):
        size.ring.evaluator.add_inplace(total, item)
    reader.finish()
    constant, words = hiding.last_step(size.ring, total)
    head = _header(Kind.REPLY, header.fingerprint, length=mine.parameters, sketch=sketch).pack()
    return b"".join(sealed([head, _CONSTANT.pack(constant), pack_words(words, size.bits)]))
