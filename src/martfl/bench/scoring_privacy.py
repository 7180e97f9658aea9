"""What a buyer that picks its baselines reads out of scores, epoch after epoch, with and without a sketch.

The worst case for the seller: its update is the same in every epoch, and the buyer asks only to spy. It knows every
seed, sends whatever vector it likes in the space that is compared, and gets the score with the scheme's own noise.
Updates have rows like an embedding table: of most rows every coordinate is zero, the others have heavy tails.

- *one-hot* reads single coordinates: the share of their variance that is explained;
- *sparse* asks whether a row was touched at all, a word used: the area under the ROC curve, 0.5 is a guess;
- *adaptive* looks for the one touched row among 64, the next questions chosen by the answers: the share of searches
  that find it, by halving or one by one, whichever does better.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from martfl.bench.scoring_attacks import (
    HALVING,
    LEAST,
    ONE_BY_ONE,
    ScoredEpoch,
    Victim,
    find_rows,
    read_coordinates,
    tell_rows,
)
from martfl.errors import InputError
from martfl.scoring import sketch_entries

FEWEST = len(HALVING)  # epochs


@dataclass(frozen=True)
class Leak:
    """What the attacks reached in one world: `…_first` with one epoch, the others with all."""

    one_hot_first: float
    one_hot: float
    sparse_first: float
    sparse: float
    adaptive: float


@dataclass(frozen=True)
class PrivacyBench:
    """Both worlds, and the bound on what one-hot baselines explain of coordinates that are alike."""

    parameters: int
    entries: int
    epochs: int
    baselines: int
    mixed: int  # coordinates in every entry of the sketch, at least
    whole: Leak
    sketch: Leak
    bound_first: float  # 1 / mixed
    bound: float  # E / (E + mixed − 1)


def bench_privacy(*, parameters: int, sketch: int | None = None, epochs: int = 60, baselines: int = 4) -> PrivacyBench:
    """Attack one update in both worlds; `sketch` entries, None for the default, or what a small model can have."""
    if parameters < LEAST:
        raise InputError(f"parameters must be at least {LEAST}, got {parameters}")
    if epochs < FEWEST or baselines < 2:
        raise InputError(f"epochs must be at least {FEWEST} and baselines 2, got {epochs} and {baselines}")
    entries = _default(parameters) if sketch is None else sketch_entries(sketch, parameters=parameters)
    if not entries:
        raise InputError("a sketch is needed to compare with, got 0 entries")
    victim, mixed = Victim(parameters, np.random.default_rng(0)), parameters // entries
    return PrivacyBench(
        parameters, entries, epochs, baselines, mixed,
        whole=_attack(victim, 0, epochs, baselines),
        sketch=_attack(victim, entries, epochs, baselines),
        bound_first=1 / mixed,
        bound=epochs / (epochs + mixed - 1),
    )  # fmt: skip


def _default(parameters: int) -> int:
    return sketch_entries(None, parameters=parameters) or 1 << int(math.log2(parameters / 2))


def _attack(victim: Victim, entries: int, epochs: int, baselines: int) -> Leak:
    def run() -> Iterator[ScoredEpoch]:
        rng = np.random.default_rng(1)
        return (ScoredEpoch(victim.update, entries, rng) for _ in range(epochs))

    coordinates, rows = read_coordinates(victim, run()), tell_rows(victim, run(), baselines)
    found = [find_rows(victim, run(), baselines, plan, epochs // len(plan)) for plan in (HALVING, ONE_BY_ONE)]
    return Leak(coordinates[0], coordinates[-1], rows[0], rows[-1], max(found))
