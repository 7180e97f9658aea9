"""Which parameters are checked: a seed that nobody chooses, stretched by the VDF, drawn without bias or repetition.

    h_0 = 0,  h_{i+1} = keccak(h_i ‖ seal_i)                              of all who are listed, in the slots' order
    seed = keccak("martfl/sampling/v2" ‖ context ‖ h_n ‖ old_root ‖ new_root ‖ beacon)
    y = VDF(seed),  ρ = keccak(y as 256 bytes)                            `vdf`

`context` is 32 bytes that name chain, contract and epoch: keccak(chain_id ‖ contract ‖ epoch), three words. `seal_i` is
what provider i bound itself to before anybody had judged it (`seal_digest`). `beacon` is the hash of the block after
the one in which the new model's root was posted. Roots and seals precede it, and nothing that anybody chooses follows,
so the indices are unknown while the model can still be changed; the VDF keeps that block's builder from trying out.

The c indices are drawn one from each of c strata, [⌊j·m/c⌋, ⌊(j+1)·m/c⌋): sorted, never repeated, no comparison on
chain. Within a stratum of s parameters:

    d = keccak(ρ ‖ j ‖ a) as a 256-bit integer, a = 0, 1, …; the first d < 2^256 − (2^256 mod s) gives ⌊j·m/c⌋ + d mod s

A cheat on a share f of the parameters puts f_j into stratum j and survives with probability Π(1 − f_j) ≤ (1 − f)^c:
the arithmetic mean bounds the geometric one when c divides m (else up to a relative c/m in f).
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from martfl.settlement.errors import SettlementError
from martfl.settlement.keccak import keccak, word

DOMAIN = b"martfl/sampling/v2"
DRAW_BITS = 256
MAX_ATTEMPTS = 256  # on chain a handful is plenty: an attempt fails with probability below s/2^256


def context(*, chain_id: int, contract: bytes, epoch: int) -> bytes:
    """Names one epoch of one contract on one chain; `contract` is the 20-byte address."""
    if len(contract) != 20:
        raise SettlementError(f"a contract address has 20 bytes, got {len(contract)}")
    return keccak(word(chain_id) + contract.rjust(32, b"\0") + word(epoch))


def roll(seals: Sequence[bytes]) -> bytes:
    """h_n over the seals of all who are listed, in the order of the circuit's slots."""
    h = bytes(32)
    for i, seal in enumerate(seals):
        _check_word(f"seal {i}", seal)
        h = keccak(h + seal)
    return h


def seed(*, context: bytes, rolled: bytes, old_root: bytes, new_root: bytes, beacon: bytes) -> bytes:
    """The VDF's input, 32 bytes."""
    parts = {"context": context, "rolled": rolled, "old_root": old_root, "new_root": new_root, "beacon": beacon}
    for name, part in parts.items():
        _check_word(name, part)
    return keccak(DOMAIN + b"".join(parts.values()))


def strata(*, parameters: int, samples: int) -> list[tuple[int, int]]:
    """(start, size) of every stratum."""
    if not 1 <= samples <= parameters:
        raise SettlementError(f"between 1 and {parameters} samples of {parameters} parameters, got {samples}")
    bounds = [j * parameters // samples for j in range(samples + 1)]
    return [(a, b - a) for a, b in pairwise(bounds)]


def indices(randomness: bytes, *, parameters: int, samples: int) -> list[int]:
    """The sampled parameters, rising; `randomness` is ρ."""
    _check_word("randomness", randomness)
    chosen = []
    for j, (start, size) in enumerate(strata(parameters=parameters, samples=samples)):
        draws = (int.from_bytes(keccak(randomness + word(j) + word(a)), "big") for a in range(MAX_ATTEMPTS))
        chosen.append(start + uniform(draws, size=size, bits=DRAW_BITS))
    return chosen


def uniform(draws: Iterable[int], *, size: int, bits: int) -> int:
    """The first of `draws` (uniform in 0..2^bits − 1) that falls into whole multiples of `size`, modulo `size`."""
    limit = (1 << bits) - (1 << bits) % size
    for draw in draws:
        if draw < limit:
            return int(draw % size)
    raise SettlementError(f"no draw below {limit}; the randomness is not random")


def _check_word(name: str, value: bytes) -> None:
    if len(value) != 32:
        raise SettlementError(f"{name} has 32 bytes, got {len(value)}")
