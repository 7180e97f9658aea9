"""The bridge to SEAL: two rings, and ciphertexts as arrays of words.

TenSEAL binds `save(path)` and `load(context, path)` only. Objects therefore pass through an anonymous memory file, and
what a peer sends is never handed to SEAL as it came: words and seeds are checked first, then put into SEAL's
uncompressed layout built here. SEAL compresses what it saves with Zstandard; only our own saves are decompressed.
"""

import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
import tenseal.sealapi as sealapi
import zstandard
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.scoring.errors import ScoreMessageError
from martfl.scoring.words import Words

File: TypeAlias = tuple[int, str]  # a descriptor and its path


class SealObject(Protocol):
    """What every object of SEAL can do."""

    def save(self, path: str) -> None: ...
    def load(self, context: sealapi.SEALContext, path: str) -> None: ...


S = TypeVar("S", bound=SealObject)

SEED_BYTES = 64  # from which SEAL (BLAKE2Xb) expands the uniform half of a ciphertext
SCALE = 1.0  # the label that SEAL keeps; real scales are folded into the encoded values

_BLAKE2XB = b"\x01"
_CIPHERTEXT = struct.Struct("<4QBQQQdQ")  # parms_id, NTT form, polynomials, N, primes, scale, correction factor
_PLAINTEXT = struct.Struct("<4QQd")  # parms_id, words, scale
_BLOCK_BYTES = 16  # SEAL's header before every object


@dataclass(frozen=True, eq=False)
class Ring:
    """SEAL's objects for polynomials of N coefficients modulo a prime q, in NTT form unless said otherwise."""

    degree: int  # N
    bits: int  # of q
    q: int
    context: sealapi.SEALContext
    evaluator: sealapi.Evaluator
    encoder: sealapi.CKKSEncoder
    level: tuple[int, ...]  # SEAL's name of the parameters
    mark: bytes  # magic, header size and version as the linked SEAL writes them

    @cached_property
    def _roots(self) -> tuple[NDArray[np.complex128], NDArray[np.intp]]:
        """N·ζ^n with ζ = e^(iπ/N) [N], and where the point ζ^(3^j) of slot j lies among the odd powers of ζ [N/2]."""
        powers = np.array([pow(3, j, 2 * self.degree) for j in range(self.degree // 2)])
        return self.degree * np.exp(1j * np.pi * np.arange(self.degree) / self.degree), (powers - 1) // 2

    def encode(self, block: Floats, rng: np.random.Generator, *, conjugate: bool = False) -> sealapi.Plaintext:
        """Numbers as the coefficients of p(X), rounded to integers, as a plaintext; of p(1/X) if `conjugate`.

        Rounding is up or down by chance, so that equal numbers do not all err the same way; integers stay themselves.
        SEAL takes the values of p at its slots' points: p(ζ^(2k+1)) = IFFT(p_n · N·ζ^n)[k].
        """
        twist, points = self._roots
        whole = np.floor(block + rng.random(block.size))  # [≤ N]
        values = np.fft.ifft(whole * twist[: block.size], self.degree)[points]  # [N/2]
        plain = sealapi.Plaintext()
        self.encoder.encode((values.conj() if conjugate else values).tolist(), SCALE, plain)
        return plain

    def constant(self, words: Words) -> int:
        """p(0) of a polynomial in NTT form, which is its N values at the odd powers of a root: their mean."""
        return int(words.sum()) * pow(self.degree, -1, self.q) % self.q  # 2^12 words below 2^44: no overflow

    # --- from words to SEAL's objects ----------------------------------------------------------------------------

    def ciphertext(self, words: Words) -> sealapi.Ciphertext:  # words: (2·N,)
        """A ciphertext (c0, c1)."""
        return self._load(sealapi.Ciphertext, self._ciphertext(words))

    def seeded_ciphertext(self, words: Words, seed: bytes, file: File | None = None) -> sealapi.Ciphertext:
        """A ciphertext from c0, (N,), and the seed of c1; hundreds of them may pass through one `file`."""
        return self._load(sealapi.Ciphertext, self._ciphertext(words, self._seed(seed)), file)

    def public_key(self, words: Words, seed: bytes) -> sealapi.PublicKey:  # words: (N,)
        """A public key (b, a) from b and the seed of a: whoever made it could not choose a."""
        return self._load(sealapi.PublicKey, self._ciphertext(words, self._seed(seed)))

    def secret_key(self, words: Words) -> sealapi.SecretKey:  # words: (N,)
        """A secret key from its words."""
        content = _PLAINTEXT.pack(*self.level, words.size, SCALE) + self._array(words)
        return self._load(sealapi.SecretKey, content)

    def _ciphertext(self, words: Words, tail: bytes = b"") -> bytes:
        return _CIPHERTEXT.pack(*self.level, 1, 2, self.degree, 1, SCALE, 1) + self._array(words) + tail

    def _seed(self, seed: bytes) -> bytes:
        return self._block(_BLAKE2XB + seed)

    def _array(self, words: Words) -> bytes:
        return self._block(struct.pack("<Q", words.size) + words.astype("<u8", copy=False).tobytes())

    def _block(self, content: bytes) -> bytes:
        # "<5s B H Q": mark, compression mode 0 (none), reserved, size with this header
        return struct.pack("<5sBHQ", self.mark, 0, 0, _BLOCK_BYTES + len(content)) + content

    def _load(self, kind: type[S], content: bytes, file: File | None = None) -> S:
        """SEAL's object of this content, read through `file` where one is given, else through one of its own."""
        if file is None:
            with memory_file() as own:
                return self._load(kind, content, own)
        item, (descriptor, path) = kind(), file
        os.pwrite(descriptor, self._block(content), 0)  # SEAL reads by the size in the header: no older rest matters
        with refusing():
            item.load(self.context, path)
        return item

    # --- from SEAL's objects to words ----------------------------------------------------------------------------

    def ciphertext_words(self, item: sealapi.Ciphertext) -> Words:
        """c0 and c1 of a ciphertext, (2·N,)."""
        return _words(_save(item), _CIPHERTEXT.size, 2 * self.degree)

    def seeded_parts(self, item: sealapi.Ciphertext) -> tuple[Words, bytes]:
        """c0, (N,), and the seed of c1 of a freshly made symmetric encryption."""
        content = _save(item)
        return _words(content, _CIPHERTEXT.size, self.degree), content[-SEED_BYTES:]

    def plaintext_words(self, item: sealapi.Plaintext | sealapi.SecretKey) -> Words:
        """The words of a plaintext or of a secret key, (N,)."""
        return _words(_save(item), _PLAINTEXT.size, self.degree)


@lru_cache(maxsize=4)
def ring(degree: int, bits: int) -> Ring:
    """The ring of this size; SEAL itself enforces 128-bit security when the context is made."""
    parameters = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS)
    parameters.set_poly_modulus_degree(degree)
    parameters.set_coeff_modulus(sealapi.CoeffModulus.Create(degree, [bits]))
    context = sealapi.SEALContext(parameters, True, sealapi.SEC_LEVEL_TYPE.TC128)
    if not context.parameters_set():
        raise RuntimeError(f"SEAL refuses the parameters: {context.parameters_error_message()}")
    (prime,) = (prime.value() for prime in context.key_context_data().parms().coeff_modulus())
    tools = sealapi.Evaluator(context), sealapi.CKKSEncoder(context)
    return Ring(degree, bits, prime, context, *tools, tuple(context.first_parms_id()), saved(sealapi.Plaintext())[:5])


@contextmanager
def memory_file() -> Iterator[File]:
    """A file of this call alone, in memory where the system can; secret keys pass through it."""
    if hasattr(os, "memfd_create"):
        descriptor, folder = os.memfd_create("seal"), None
        path = f"/proc/self/fd/{descriptor}"
    else:
        folder = tempfile.TemporaryDirectory()
        path = str(Path(folder.name) / "seal")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield descriptor, path
    finally:
        os.close(descriptor)
        if folder is not None:
            folder.cleanup()


@contextmanager
def refusing() -> Iterator[None]:
    """Turn whatever SEAL throws over a peer's words into our error; its texts stay inside."""
    try:
        yield
    except (RuntimeError, ValueError, TypeError, IndexError, MemoryError):
        raise ScoreMessageError("the message must hold valid ciphertexts of the named ring") from None


def saved(item: SealObject) -> bytes:
    """An object as SEAL saves it."""
    with memory_file() as (descriptor, path):
        item.save(path)
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _save(item: SealObject) -> bytes:
    """An object's content without SEAL's outer header and compression."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(saved(item)[_BLOCK_BYTES:])


def _words(content: bytes, start: int, count: int) -> Words:
    offset = start + _BLOCK_BYTES + 8
    if struct.unpack_from("<Q", content, offset - 8)[0] != count:
        raise RuntimeError("SEAL's layout differs from the one known here")
    return np.frombuffer(content, "<u8", count, offset).astype(np.uint64, copy=False)
