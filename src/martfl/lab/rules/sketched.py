"""Scores as a market with sketches gives them: of rounded sketches, flooded; and whose fate they change."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from martfl.scoring import SCORE_ERROR, Sketch
from martfl.scoring.sketch import NORM
from martfl.selection import Role, Selection

TURNED_DOWN = (Role.DROPPED, Role.CANDIDATE, Role.SILENT)


class SketchedScores:
    """One round's scores over sketches under a seed that nobody knew when updates were made."""

    def __init__(self, updates: Tensor, entries: int, rng: np.random.Generator) -> None:
        self._rng = rng.spawn(1)[0]  # a stream of its own: the rule's goes on as if nobody had asked
        self.sketch = Sketch(self._rng.bytes(32), entries)
        self._order = torch.as_tensor(self.sketch.order, device=updates.device)
        self._blocks = [self._block(index, updates.device) for index in range(-(-updates.shape[1] // entries))]
        units = _units(self._project(updates)) * NORM
        self._rows = torch.floor(units + torch.as_tensor(self.sketch.dither, device=units.device))  # [n, K]
        self._rows[~units.any(dim=1)] = 0.0

    def __call__(self, baseline: Tensor) -> np.ndarray:
        """[n] scores; NaN for a broken update."""
        unit = _units(self._project(baseline[None]))[0]
        scores = (self._rows @ unit / NORM).cpu().numpy()
        return np.clip(scores + self._rng.uniform(-SCORE_ERROR, SCORE_ERROR, scores.size), -1.0, 1.0)

    def _block(self, index: int, device: torch.device) -> tuple[int, Tensor]:
        shift, signs = self.sketch.block(index)
        return shift, torch.as_tensor(signs, dtype=torch.int8, device=device)

    def _project(self, rows: Tensor) -> Tensor:
        """S x of every row [n, K], as `Sketch.project` has it."""
        entries = self.sketch.entries
        total = torch.zeros(rows.shape[0], entries, dtype=torch.float64, device=rows.device)
        for block, (shift, signs) in zip(torch.split(rows, entries, dim=1), self._blocks, strict=True):
            whole = torch.nn.functional.pad(block, (0, entries - block.shape[1]))
            total += torch.roll(whole[:, self._order].double() * signs, shift, dims=1)
        return total


def _units(rows: Tensor) -> Tensor:
    """Every row at length 1; an all-zero one stays."""
    lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return rows / torch.where(lengths > 0, lengths, torch.ones_like(lengths))


def compare(one: Selection, two: Selection) -> dict[str, float]:
    """Shares of the providers whom two decisions judge alike, and whom they buy and weigh alike.

    A judgement is whether somebody is turned down; who of equals is bought within a budget is a lot.
    """
    judged = [(a in TURNED_DOWN) == (b in TURNED_DOWN) for a, b in zip(one.roles, two.roles, strict=True)]
    alike = [
        (i in one.bought, bool(one.weights[i])) == (i in two.bought, bool(two.weights[i])) for i in range(len(judged))
    ]
    return {"same_choices": float(np.mean(judged)), "same_purchases": float(np.mean(alike))}
