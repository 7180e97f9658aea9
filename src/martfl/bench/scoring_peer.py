"""The settings of the paper's authors, block by block, so that a model of any size is measured in little memory."""

import math
import os
from collections.abc import Iterator

import tenseal.sealapi as sealapi

from martfl.arrays import Floats
from martfl.scoring.seal import memory_file, saved


class Prototype:
    """N = 8192, [60, 40, 40, 60], real slots, public-key encryption, one unmasked ciphertext back per block."""

    degree, bits, scale = 8192, (60, 40, 40, 60), 2.0**40

    def __init__(self) -> None:
        parameters = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS)
        parameters.set_poly_modulus_degree(self.degree)
        parameters.set_coeff_modulus(sealapi.CoeffModulus.Create(self.degree, list(self.bits)))
        self.context = sealapi.SEALContext(parameters, True, sealapi.SEC_LEVEL_TYPE.TC128)
        keys, public = sealapi.KeyGenerator(self.context), sealapi.PublicKey()
        keys.create_public_key(public)
        self.encryptor = sealapi.Encryptor(self.context, public)
        self.decryptor = sealapi.Decryptor(self.context, keys.secret_key())
        self.evaluator, self.encoder = sealapi.Evaluator(self.context), sealapi.CKKSEncoder(self.context)

    def blocks(self, unit: Floats) -> Iterator[Floats]:
        """A unit vector in parts that fill a ciphertext."""
        width = self.degree // 2
        return (unit[start : start + width] for start in range(0, unit.size, width))

    def encrypt(self, block: Floats) -> bytes:
        """The acquirer's message of one block."""
        item = sealapi.Ciphertext()
        self.encryptor.encrypt(self._encode(block), item)
        return saved(item)

    def provide(self, raw: bytes, block: Floats) -> bytes:
        """The provider's answer to it."""
        item = self._load(raw)
        self.evaluator.multiply_plain_inplace(item, self._encode(block))
        return saved(item)

    def decrypt(self, raw: bytes) -> float:
        """The block's part of the cosine."""
        plain = sealapi.Plaintext()
        self.decryptor.decrypt(self._load(raw), plain)
        return math.fsum(self.encoder.decode_double(plain))

    def _encode(self, block: Floats) -> sealapi.Plaintext:
        plain = sealapi.Plaintext()
        self.encoder.encode(block.tolist(), self.scale, plain)
        return plain

    def _load(self, raw: bytes) -> sealapi.Ciphertext:
        item = sealapi.Ciphertext()
        with memory_file() as (descriptor, path):
            os.write(descriptor, raw)
            item.load(self.context, path)
        return item
