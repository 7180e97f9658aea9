"""Private scoring beside the settings of the paper's authors: same vectors, same process, same SEAL."""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

import numpy as np
import tenseal.sealapi as sealapi
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from martfl.bench.measure import timed
from martfl.errors import InputError
from martfl.scoring.ckks import ScoringKey, score_under_encryption
from martfl.scoring.cosine import cosine
from martfl.scoring.seal import memory_file, saved

COSINES = (-0.2, 0.0, 0.1, 0.5, 0.9)
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Side:
    """One scheme's figures: medians of the CPU seconds, the largest error over all cosines."""

    bytes_per_parameter: float
    reply_bytes: int
    encrypt_cpu_s: float
    provider_cpu_s: float
    decrypt_cpu_s: float
    max_error: float


@dataclass(frozen=True)
class ScoringBench:
    """Both sides, and how many times less of each ours needs."""

    parameters: int
    cosines: tuple[float, ...]
    ours: Side
    prototype: Side
    ratios: dict[str, float]


class Scheme(Protocol):
    """What is timed; wires are lists of the messages that travel."""

    def encrypt(self, baseline: Vector) -> list[bytes]: ...

    def provide(self, wire: list[bytes], update: Vector) -> list[bytes]: ...

    def decrypt(self, wire: list[bytes]) -> float: ...


class Ours:
    """`martfl.scoring` as providers and acquirers use it."""

    def __init__(self) -> None:
        self.key = ScoringKey.generate()

    def encrypt(self, baseline: Vector) -> list[bytes]:
        return [self.key.encrypt_baseline(baseline)]

    def provide(self, wire: list[bytes], update: Vector) -> list[bytes]:
        return [score_under_encryption(wire[0], update)]

    def decrypt(self, wire: list[bytes]) -> float:
        return self.key.decrypt_score(wire[0])


class Prototype:
    """N = 8192, [60, 40, 40, 60], real slots, public-key encryption, one unmasked ciphertext back per chunk."""

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

    def _plaintexts(self, vector: Vector) -> Iterator[Any]:
        unit, width = vector / np.linalg.norm(vector), self.degree // 2
        for start in range(0, unit.size, width):
            plain = sealapi.Plaintext()
            self.encoder.encode(unit[start : start + width].tolist(), self.scale, plain)
            yield plain

    def _load(self, raw: bytes) -> Any:
        item = sealapi.Ciphertext()
        with memory_file() as (descriptor, path):
            os.write(descriptor, raw)
            item.load(self.context, path)
        return item

    def encrypt(self, baseline: Vector) -> list[bytes]:
        wire = []
        for plain in self._plaintexts(baseline):
            item = sealapi.Ciphertext()
            self.encryptor.encrypt(plain, item)
            wire.append(saved(item))
        return wire

    def provide(self, wire: list[bytes], update: Vector) -> list[bytes]:
        back = []
        for raw, plain in zip(wire, self._plaintexts(update), strict=True):
            item = self._load(raw)
            self.evaluator.multiply_plain_inplace(item, plain)
            back.append(saved(item))
        return back

    def decrypt(self, wire: list[bytes]) -> float:
        total, plain = 0.0, sealapi.Plaintext()
        for raw in wire:
            self.decryptor.decrypt(self._load(raw), plain)
            total += math.fsum(self.encoder.decode_double(plain))
        return total


def _update(baseline: Vector, target: float, position: int) -> Vector:
    """A vector at cosine `target` to a unit baseline; every second one with heavy tails."""
    rng = np.random.default_rng((1, position))
    other = rng.standard_t(3, baseline.size) if position % 2 else rng.standard_normal(baseline.size)
    other -= baseline * (baseline @ other)
    return target * baseline + math.sqrt(1 - target**2) * other / np.linalg.norm(other)


class _Run:
    """One scheme's measurements as they come in."""

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme
        self.wire: list[bytes] = []
        self.reply_bytes = 0
        self.encrypt: list[float] = []
        self.provide: list[float] = []
        self.decrypt: list[float] = []
        self.errors: list[float] = []

    def send(self, baseline: Vector) -> None:
        self.wire = []  # before the next one is made: a prototype's baseline is large
        sent = timed(lambda: self.scheme.encrypt(baseline))
        self.wire = sent.value
        self.encrypt.append(sent.cpu_s)

    def answer(self, update: Vector, expected: float) -> None:
        reply = timed(lambda: self.scheme.provide(self.wire, update))
        score = timed(lambda: self.scheme.decrypt(reply.value))
        self.provide.append(reply.cpu_s)
        self.decrypt.append(score.cpu_s)
        self.errors.append(abs(score.value - expected))
        self.reply_bytes = sum(map(len, reply.value))

    def side(self, parameters: int) -> Side:
        seconds = (median(self.encrypt), median(self.provide), median(self.decrypt))
        return Side(sum(map(len, self.wire)) / parameters, self.reply_bytes, *seconds, max(self.errors))


def bench_scoring(*, parameters: int, repeats: int = 3) -> ScoringBench:
    """Encrypt one baseline and score five updates, both ways in turn, so that a busy machine slows both alike."""
    if parameters < 2:
        raise InputError(f"parameters must be at least 2 to build given cosines, got {parameters}")
    with threadpool_limits(limits=1):  # idle BLAS threads spin for a while, and the clock counts all threads
        return _bench(parameters, repeats)


def _bench(parameters: int, repeats: int) -> ScoringBench:
    baseline = np.random.default_rng(0).standard_normal(parameters)
    baseline /= np.linalg.norm(baseline)
    runs = _Run(Ours()), _Run(Prototype())  # keys are made before the clock starts
    for _ in range(repeats):
        for run in runs:
            run.send(baseline)
    for position, target in enumerate(COSINES):
        update = _update(baseline, target, position)
        for run in runs:
            run.answer(update, cosine(baseline, update))
    ours, prototype = (run.side(parameters) for run in runs)
    names = ("bytes_per_parameter", "reply_bytes", "encrypt_cpu_s", "provider_cpu_s", "decrypt_cpu_s")
    ratios = {name: getattr(prototype, name) / getattr(ours, name) for name in names}
    return ScoringBench(parameters, COSINES, ours, prototype, ratios)
