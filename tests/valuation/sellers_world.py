"""Sellers small enough to reason about: a common signal, and noise that falls with the rows that a seller has."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from martfl.valuation import Information, Sale

SIZE, ROWS, NOISE = 3000, 80, 300.0  # parameters; root rows; seller's rows at which noise is as long as the signal


@dataclass(frozen=True)
class World:
    """Directions are s + √(NOISE / rows)·e; a row gains what a direction has of s, with some spread."""

    seed: int = 0

    @property
    def signal(self) -> np.ndarray:
        return self.normal(1) / np.sqrt(SIZE)

    def normal(self, *keys: int) -> np.ndarray:
        words = [self.seed, *keys]
        return np.random.default_rng(words).normal(size=SIZE)

    def data(self, key: int, rows: float) -> np.ndarray:
        """What these rows teach."""
        return rows * self.signal + np.sqrt(NOISE * rows) * self.normal(7, key) / np.sqrt(SIZE)

    def directions(self, rows: Sequence[float]) -> np.ndarray:
        return np.stack([self.data(key, size) for key, size in enumerate(rows)])

    def sale(self, directions: np.ndarray, step: np.ndarray | None = None) -> Sale:
        names = tuple(str(i) for i in range(len(directions)))
        gains = self.gains(directions)
        return Sale(names, directions, gains, step, None if step is None else self.gains(step[None])[0])

    def gains(self, directions: np.ndarray) -> np.ndarray:
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        units = np.divide(directions, lengths, out=np.zeros_like(directions), where=lengths > 0)
        spread = 1.0 + 0.5 * np.random.default_rng(self.seed).normal(size=ROWS)
        return np.outer(units @ self.signal, spread)

    def shares(self, directions: np.ndarray, step: np.ndarray | None = None, **options: float) -> np.ndarray:
        rule = Information(**options)
        return rule.appraise(rule.start(), self.sale(directions, step))[1].shares
