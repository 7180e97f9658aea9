"""The bridge to SEAL: one ring, and ciphertexts as arrays of words.

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
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import tenseal.sealapi as sealapi
import zstandard
from numpy.typing import NDArray

from martfl.scoring.errors import MessageError

Words = NDArray[np.uint64]

DEGREE = 4096  # N: a ciphertext carries N parameters, two to a complex slot
MODULUS_BITS = (40, 40)  # data prime q and special prime p; SEAL allows 109 bits in all at 128-bit security
WORD_BYTES = 5  # a residue below 2^40 on the wire
SEED_BYTES = 64  # from which SEAL (BLAKE2Xb) expands the uniform half of a ciphertext
SCALE = 1.0  # the label that SEAL keeps; real scales are folded into the encoded values

_BLAKE2XB = b"\x01"
_CIPHERTEXT = struct.Struct("<4QBQQQdQ")  # parms_id, NTT form, polynomials, N, primes, scale, correction factor
_PLAINTEXT = struct.Struct("<4QQd")  # parms_id, words, scale
_BLOCK_BYTES = 16  # SEAL's header before every object


@dataclass(frozen=True)
class Ring:
    """SEAL's objects for our one parameter set."""

    context: Any
    evaluator: Any
    encoder: Any
    moduli: tuple[int, int]  # (q, p)
    data_id: tuple[int, ...]  # level of ciphertexts: q
    key_id: tuple[int, ...]  # level of keys: q·p
    mark: bytes  # magic, header size and version as the linked SEAL writes them

    @property
    def q(self) -> int:
        """The data modulus."""
        return self.moduli[0]


@lru_cache(maxsize=1)
def ring() -> Ring:
    """The ring; SEAL itself enforces 128-bit security when the context is made."""
    parameters = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS)
    parameters.set_poly_modulus_degree(DEGREE)
    parameters.set_coeff_modulus(sealapi.CoeffModulus.Create(DEGREE, list(MODULUS_BITS)))
    context = sealapi.SEALContext(parameters, True, sealapi.SEC_LEVEL_TYPE.TC128)
    if not context.parameters_set():
        raise RuntimeError(f"SEAL refuses the parameters: {context.parameters_error_message()}")
    first, special = (prime.value() for prime in context.key_context_data().parms().coeff_modulus())
    levels = tuple(context.first_parms_id()), tuple(context.key_parms_id())
    evaluator, encoder = sealapi.Evaluator(context), sealapi.CKKSEncoder(context)
    return Ring(context, evaluator, encoder, (first, special), *levels, saved(sealapi.Plaintext())[:5])


@contextmanager
def memory_file() -> Iterator[tuple[int, str]]:
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


def saved(item: Any) -> bytes:
    """An object as SEAL saves it."""
    with memory_file() as (descriptor, path):
        item.save(path)
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _save(item: Any) -> bytes:
    """An object's content without SEAL's outer header and compression."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(saved(item)[_BLOCK_BYTES:])


def _load(kind: Any, content: bytes, file: tuple[int, str] | None = None) -> Any:
    """SEAL's object of this content, read through `file` where one is given, else through one of its own."""
    if file is None:
        with memory_file() as own:
            return _load(kind, content, own)
    item, (descriptor, path) = kind(), file
    os.pwrite(descriptor, _block(content), 0)  # SEAL reads by the size in the block's header: no older rest matters
    with refusing():
        item.load(ring().context, path)
    return item


@contextmanager
def refusing() -> Iterator[None]:
    """Turn whatever SEAL throws over a peer's words into our error; its texts stay inside."""
    try:
        yield
    except (RuntimeError, ValueError, TypeError, IndexError, MemoryError):
        raise MessageError("the message must hold valid ciphertexts of the named ring") from None


def _block(content: bytes) -> bytes:
    # "<5s B H Q": mark, compression mode 0 (none), reserved, size with this header
    return struct.pack("<5sBHQ", ring().mark, 0, 0, _BLOCK_BYTES + len(content)) + content


def _array(words: Words) -> bytes:
    return _block(struct.pack("<Q", words.size) + words.astype("<u8", copy=False).tobytes())


def _ciphertext_content(words: Words, *, level: tuple[int, ...], primes: int, tail: bytes = b"") -> bytes:
    return _CIPHERTEXT.pack(*level, 1, 2, DEGREE, primes, SCALE, 1) + _array(words) + tail


def _seed_tail(seed: bytes) -> bytes:
    return _block(_BLAKE2XB + seed)


def ciphertext(words: Words) -> Any:  # words: (2·N,)
    """A ciphertext (c0, c1) at data level."""
    return _load(sealapi.Ciphertext, _ciphertext_content(words, level=ring().data_id, primes=1))


def seeded_ciphertext(words: Words, seed: bytes, file: tuple[int, str] | None = None) -> Any:  # words: (N,)
    """A ciphertext from c0 and the seed of c1; hundreds of them may pass through one `file`."""
    content = _ciphertext_content(words, level=ring().data_id, primes=1, tail=_seed_tail(seed))
    return _load(sealapi.Ciphertext, content, file)


def public_key(words: Words, seed: bytes) -> Any:  # words: (2·N,), residues mod q then mod p
    """A public key (b, a) from b and the seed of a: whoever made it could not choose a."""
    content = _ciphertext_content(words, level=ring().key_id, primes=2, tail=_seed_tail(seed))
    return _load(sealapi.PublicKey, content)


def secret_key(words: Words) -> Any:  # words: (2·N,)
    """A secret key from its words."""
    return _load(sealapi.SecretKey, _PLAINTEXT.pack(*ring().key_id, words.size, SCALE) + _array(words))


def plaintext(words: Words) -> Any:  # words: (N,)
    """A plaintext in NTT form at data level."""
    return _load(sealapi.Plaintext, _PLAINTEXT.pack(*ring().data_id, words.size, SCALE) + _array(words))


def ciphertext_words(item: Any) -> Words:
    """c0 and c1 of a ciphertext, (2·N,)."""
    return _words(_save(item), _CIPHERTEXT.size, 2 * DEGREE)


def seeded_parts(item: Any, *, primes: int = 1) -> tuple[Words, bytes]:
    """c0, (primes·N,), and the seed of c1 of a freshly made symmetric encryption."""
    content = _save(item)
    return _words(content, _CIPHERTEXT.size, primes * DEGREE), content[-SEED_BYTES:]


def plaintext_words(item: Any, *, primes: int = 1) -> Words:
    """The words of a plaintext in NTT form, or of a secret key (two primes)."""
    return _words(_save(item), _PLAINTEXT.size, primes * DEGREE)


def _words(content: bytes, start: int, count: int) -> Words:
    offset = start + _BLOCK_BYTES + 8
    if struct.unpack_from("<Q", content, offset - 8)[0] != count:
        raise RuntimeError("SEAL's layout differs from the one known here")
    return np.frombuffer(content, "<u8", count, offset).astype(np.uint64, copy=False)


_WORD_MASK = np.uint64((1 << (8 * WORD_BYTES)) - 1)


def pack_words(words: Words) -> bytes:
    """Residues below 2^40 as five bytes each."""
    return words.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)[:, :WORD_BYTES].tobytes()


def unpack_words(raw: bytes, moduli: tuple[int, ...]) -> Words:
    """The residues of `pack_words`, one run of N per modulus, each checked against it."""
    padded = bytes(raw) + bytes(8 - WORD_BYTES)  # eight bytes are read at every fifth, and the upper three masked out
    wide = np.ndarray((len(moduli), DEGREE), "<u8", padded, strides=(DEGREE * WORD_BYTES, WORD_BYTES))
    words = (wide & _WORD_MASK).astype(np.uint64, copy=False)
    if any(int(run.max()) >= modulus for run, modulus in zip(words, moduli, strict=True)):
        raise MessageError("every word of a message must be a residue below its modulus")
    return words.reshape(-1)
