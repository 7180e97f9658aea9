"""What generators are multiplied with: columns of slots, or whole scalars where challenges mix many vectors."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from martfl.arrays import Integers
from martfl.settlement.exact.layout import SlotLayout
from martfl.settlement.exact.plain import ORDER

_CHUNK = 1 << 12  # scalars at a time: what is worked on stays in the processor's cache


def slot_columns(values: Integers, layout: SlotLayout) -> Integers:
    """The slots as columns: [l, j] = v_{s·j+l}, zero beyond the end."""
    dtype = max(values.dtype, np.dtype(np.int16))
    grid = np.zeros((layout.points(values.size), layout.slots), dtype)  # (M, s)
    grid.reshape(-1)[: values.size] = values
    return np.ascontiguousarray(grid.T)


def combine_packed(
    updates: Sequence[Integers], challenges: Sequence[int], layout: SlotLayout, challenge_bits: int
) -> npt.NDArray[np.uint8]:
    """Scalars of Σ_i c_i·q_i, reduced mod r, as 32 little-endian bytes each; challenges c_i of `challenge_bits` bits.

    c_i = Σ_t c_{i,t} 2^(L·t), with L such that |Σ_i c_{i,t} q_i| < n·2^L·2^(b−1) ≤ 2^63: int64 holds every sum.
    """
    limb_bits = 63 - (layout.bits - 1) - len(updates).bit_length()
    digits = -(-challenge_bits // limb_bits)
    mask = (1 << limb_bits) - 1
    table = np.array([[[(c >> (limb_bits * t)) & mask] for t in range(digits)] for c in challenges])  # (n, T, 1)
    step = _CHUNK * layout.slots
    scalars: list[bytes] = []  # in chunks
    for start in range(0, updates[0].size, step):
        sums = np.zeros((digits, min(step, updates[0].size - start)), np.int64)  # (T, chunk)
        for limbs, update in zip(table, updates, strict=True):
            sums += limbs * update[start : start + step].astype(np.int64)
        scalars.append(_reduce(_grid(sums, layout.slots), layout.width, limb_bits))
    return np.frombuffer(b"".join(scalars), np.uint8).reshape(-1, 32)  # (M, 32)


def _grid(sums: npt.NDArray[np.int64], slots: int) -> npt.NDArray[np.int64]:
    digits, size = sums.shape
    padded = np.zeros((digits, -(-size // slots) * slots), np.int64)
    padded[:, :size] = sums
    return padded.reshape(digits, -1, slots)  # (T, M, s)


def _reduce(sums: npt.NDArray[np.int64], width: int, limb_bits: int) -> bytes:
    """Σ_{t,l} sums[t, :, l] · 2^(L·t + w·l) mod r, in 32-bit words with carries kept to the end."""
    digits, count, slots = sums.shape
    words = (limb_bits * (digits - 1) + width * (slots - 1) + 64) // 32 + 2
    total = np.zeros((words, count), np.int64)
    for t in range(digits):
        for slot in range(slots):
            word, shift = divmod(limb_bits * t + width * slot, 32)
            _add(total, word, sums[t, :, slot], shift)
    return _words_to_scalars(total)


def _add(total: npt.NDArray[np.int64], word: int, values: npt.NDArray[np.int64], shift: int) -> None:
    """total += values · 2^(32·word + shift), shift < 32; halves keep every product below 2^63."""
    low = (values & 0xFFFFFFFF).view(np.uint64) << np.uint64(shift)  # < 2^63
    high = (values >> 32) << shift  # signed, |·| < 2^62
    total[word] += (low & np.uint64(0xFFFFFFFF)).view(np.int64)
    total[word + 1] += (low >> np.uint64(32)).view(np.int64) + (high & 0xFFFFFFFF)
    total[word + 2] += high >> 32


def _words_to_scalars(total: npt.NDArray[np.int64]) -> bytes:
    """Carry, then reduce each column mod r; the top word is signed, so the integer is read as two's complement."""
    words, count = total.shape
    for word in range(words - 1):
        total[word + 1] += total[word] >> 32
        total[word] &= 0xFFFFFFFF
    raw = np.ascontiguousarray(total.T.astype(np.uint32).astype("<u4")).tobytes()
    size = 4 * words
    return b"".join(
        (int.from_bytes(raw[at : at + size], "little", signed=True) % ORDER).to_bytes(32, "little")
        for at in range(0, count * size, size)
    )
