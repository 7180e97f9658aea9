"""A verifiable delay function: Wesolowski (EUROCRYPT 2019) in (Z/N)*/{±1}, N the RSA-2048 challenge number.

    x = keccak(seed ‖ 0) ‖ … ‖ keccak(seed ‖ 7), the top bit cleared                 a full 2047-bit element
    y = ± x^(2^T), the one below N/2;   T squarings, one after the other
    h = keccak(x ‖ y ‖ T)
    ℓ = (keccak(h ‖ nonce ‖ 0) ‖ keccak(h ‖ nonce ‖ 1)) mod 2^264, bits 263, 1 and 0 set     ℓ ≡ 3 mod 4, must be prime
    π = ± x^⌊2^T / ℓ⌋,   accepted iff  π^ℓ · x^(2^T mod ℓ) = y  (mod N)
    randomness = keccak(y as 256 bytes)

Integers are hashed as 32-byte words (nonce, T, the counters) or 256-byte words (x, y), big endian, as on chain.

Why ℓ has 264 bits. Whoever has computed B = Π p over a set S of primes can prove the false output y·g^B as soon as its
challenge falls into S: π·g^(B/ℓ) passes. It may try g, g², … until that happens, so a set of 2^k primes and 2^k tries
break a challenge drawn from 2^(2k) primes. With 128 bits that was k = 60, and the set could be made years ahead. Among
the numbers of 264 bits of this form more than 2^254 are prime: k = 127.

What a verifier must not skip: ℓ prime (with smooth ℓ a false y has a root, found in minutes), 0 < y < N/2 (−y and 0
would pass too), 0 < π < N, and its own T, never the prover's. Nobody is known to know N's factors; who did could
skip the wait.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import gmpy2
from gmpy2 import mpz, powmod

from martfl.settlement.errors import SettlementError
from martfl.settlement.keccak import keccak, word

N = mpz(
    "251959084756578934940271832400483985714292821262040320277771378360436620207075955562640185258807844069182906412495150"
    "821892985591491761845028084891200728449926873928072877767359714183472702618963750149718246911650776133798590957000973"
    "304597488084284017974291006424586918171951187461215151726546322822168699875491824224336372590851418654620435767984233"
    "871847744479207399342365848238242811981638150106748104516603773060562016196762561338441436038339044149526344321901146"
    "575444541784240209246165157233507787077498171257724679629263863563732899121548314381678998850404453640235273819513786"
    "36564391212010397122822120720357"
)
CHALLENGE_BITS = 264
MIN_SQUARINGS = CHALLENGE_BITS  # below, ⌊2^T / ℓ⌋ is 0 and the proof no shorter than the work
MAX_NONCE = 4096
_ROUNDS = 25  # Miller–Rabin; ℓ comes from a hash, so nobody aims at particular bases
_MAX_CHECKPOINTS = 1 << 15


@dataclass(frozen=True)
class VdfProof:
    """y, π and the nonce that made ℓ prime."""

    y: int
    pi: int
    nonce: int

    def to_bytes(self) -> bytes:
        """512 bytes and a word."""
        return _wide(self.y) + _wide(self.pi) + word(self.nonce)

    @classmethod
    def from_bytes(cls, data: bytes) -> "VdfProof":
        """The inverse of `to_bytes`."""
        if len(data) != 544:
            raise SettlementError(f"a VDF proof has 544 bytes, got {len(data)}")
        y, pi, nonce = (int.from_bytes(part, "big") for part in (data[:256], data[256:512], data[512:]))
        return cls(y, pi, nonce)


def evaluate(seed: bytes, *, squarings: int, progress: Callable[[int], None] | None = None) -> VdfProof:
    """The slow part and its proof; `progress` hears the number of squarings done."""
    x = hash_to_group(seed)
    window, group = _windows(_check_delay(squarings))
    y, checkpoints = _square(x, squarings=squarings, gap=window * group, progress=progress)
    y = min(y, N - y)
    nonce, ell = _first_prime(x, y, squarings)
    pi = _quotient_power(checkpoints, squarings=squarings, ell=ell, window=window, group=group)
    if not _equation(x, y, pi, squarings, ell):
        pi = N - pi  # the sign that was taken off y; ℓ is odd
    return VdfProof(int(y), int(pi), nonce)


def verify(seed: bytes, proof: VdfProof, *, squarings: int) -> bool:
    """Whether `proof.y` is the output for `seed` after the verifier's own number of squarings."""
    x = hash_to_group(seed)
    _check_delay(squarings)
    if not (0 < proof.y <= N // 2 and 0 < proof.pi < N and 0 <= proof.nonce < MAX_NONCE):
        return False
    ell = challenge(x, mpz(proof.y), squarings=squarings, nonce=proof.nonce)
    return bool(gmpy2.is_prime(ell, _ROUNDS)) and _equation(x, mpz(proof.y), mpz(proof.pi), squarings, ell)


def randomness(proof: VdfProof) -> bytes:
    """ρ = keccak(y): what the indices are drawn from."""
    return keccak(_wide(proof.y))


def hash_to_group(seed: bytes) -> "mpz":
    """x, below 2^2047 and so below N."""
    if len(seed) != 32:
        raise SettlementError(f"a seed has 32 bytes, got {len(seed)}")
    wide = b"".join(keccak(seed + word(i)) for i in range(8))
    return mpz(int.from_bytes(wide, "big") & ((1 << 2047) - 1))


def challenge(x: "mpz", y: "mpz", *, squarings: int, nonce: int) -> "mpz":
    """ℓ for this nonce, prime or not."""
    prefix = keccak(_wide(x) + _wide(y) + word(squarings)) + word(nonce)
    wide = keccak(prefix + word(0)) + keccak(prefix + word(1))
    drawn = int.from_bytes(wide, "big") % (1 << CHALLENGE_BITS)
    return mpz(drawn | 1 << (CHALLENGE_BITS - 1) | 3)


def _first_prime(x: "mpz", y: "mpz", squarings: int) -> tuple[int, "mpz"]:
    for nonce in range(MAX_NONCE):
        ell = challenge(x, y, squarings=squarings, nonce=nonce)
        if gmpy2.is_prime(ell, _ROUNDS):
            return nonce, ell
    raise SettlementError(f"no prime challenge among {MAX_NONCE} nonces")  # about e^-45


def _equation(x: "mpz", y: "mpz", pi: "mpz", squarings: int, ell: "mpz") -> bool:
    return bool(powmod(pi, ell, N) * powmod(x, powmod(2, squarings, ell), N) % N == y)


def _square(x: "mpz", *, squarings: int, gap: int, progress: Callable[[int], None] | None) -> tuple["mpz", list["mpz"]]:
    """x^(2^T) and every x^(2^(i·gap)) on the way."""
    y, checkpoints = x, []
    for done in range(0, squarings, gap):
        checkpoints.append(y)
        y = powmod(y, mpz(1) << min(gap, squarings - done), N)
        if progress is not None:
            progress(min(done + gap, squarings))
    return y, checkpoints


def _quotient_power(checkpoints: list["mpz"], *, squarings: int, ell: "mpz", window: int, group: int) -> "mpz":
    """x^⌊2^T/ℓ⌋ from the checkpoints (Wesolowski §4.1).

    ⌊2^T/ℓ⌋ = Σ_i d_i 2^(κi) with d_i = ⌊2^κ (2^(T−κ(i+1)) mod ℓ) / ℓ⌋. Digits i = aγ + j with the same j share the
    power 2^(κj), and checkpoint a is x^(2^(κγa)): π = Π_j (Π_d (Π_{a: d_{aγ+j} = d} C_a)^d)^(2^(κj)).
    """
    pi = mpz(1)
    for j in reversed(range(group)):
        pi = powmod(pi, mpz(1) << window, N)
        buckets = _buckets(checkpoints, squarings=squarings, ell=ell, window=window, group=group, j=j)
        pi = pi * _weigh(buckets) % N
    return pi


def _buckets(checkpoints: list["mpz"], *, squarings: int, ell: "mpz", window: int, group: int, j: int) -> list["mpz"]:
    """Bucket d holds the product of the checkpoints whose digit is d; digits above ⌊T/κ⌋ are zero as ℓ > 2^263."""
    buckets = [mpz(1)] * (1 << window)
    last = (squarings // window - 1 - j) // group
    if last < 0:
        return buckets
    rest = powmod(2, squarings - window * (last * group + j + 1), ell)
    step = powmod(2, window * group, ell)
    for a in range(last, -1, -1):
        digit = int((rest << window) // ell)
        buckets[digit] = buckets[digit] * checkpoints[a] % N
        rest = rest * step % ell
    return buckets


def _weigh(buckets: list["mpz"]) -> "mpz":
    """Π_d bucket_d^d by running products from the top: two multiplications a bucket."""
    running, total = mpz(1), mpz(1)
    for bucket in reversed(buckets[1:]):
        running = running * bucket % N
        total = total * running % N
    return total


def _windows(squarings: int) -> tuple[int, int]:
    """κ and γ: checkpoints within bounds, then the fewest multiplications T/κ + γ·2^(κ+1)."""

    def group(window: int) -> int:
        return max(1, math.ceil(squarings / (window * _MAX_CHECKPOINTS)))

    best = min(range(1, 17), key=lambda w: squarings / w + group(w) * 2 ** (w + 1))
    return best, group(best)


def _check_delay(squarings: int) -> int:
    if not MIN_SQUARINGS <= squarings < 1 << 63:
        raise SettlementError(f"the delay is {MIN_SQUARINGS}..2^63 − 1 squarings, got {squarings}")
    return squarings


def _wide(value: int) -> bytes:
    return int(value).to_bytes(256, "big")
