"""Every random stream derives from a seed and the names of what it is for, never from global state."""

from __future__ import annotations

import zlib

import numpy as np
import torch


def _words(keys: tuple[int | str, ...]) -> list[int]:
    return [zlib.crc32(key.encode()) if isinstance(key, str) else key for key in keys]


def stream(seed: int, *keys: int | str) -> np.random.Generator:
    """A generator of its own for (seed, keys), such as (seed, "batches", round, participant)."""
    return np.random.default_rng(np.random.SeedSequence([seed, *_words(keys)]))


def device_stream(device: torch.device, seed: int, *keys: int | str) -> torch.Generator:
    """The same on a device; streams of different devices differ from each other."""
    word = int(np.random.SeedSequence([seed, *_words(keys)]).generate_state(1, np.uint64)[0] >> np.uint64(1))
    return torch.Generator(device=device).manual_seed(word)
