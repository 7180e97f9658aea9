"""What models of texts answer to single words: said all along, and in texts of the buyer's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from martfl.lab.models.base import Model, Params
from martfl.lab.models.textcnn import Said, to_words

RUNS = (1, 2, 3)  # how often a word is said before or after a text
# A model that reads letters has none: each letter stands in every text.
ANSWERS: dict[str, Callable[[Params, Sequence[Said]], Tensor]] = {"textcnn": to_words}


@torch.no_grad()
def answers_to_words(model: Model, flat: Tensor, texts: Sequence[Said]) -> Tensor:
    """[m] -> [w, texts, c] the answers to texts that every word of the table completes, without 0, which pads."""
    return ANSWERS[model.name](model.split(flat), texts)


def draw_texts(x: Tensor, seed: int) -> list[Said]:
    """One that is nothing but the word, and rows that it is put before or after; x [r, L]."""
    rng, length = np.random.default_rng(seed), x.shape[1]
    found = [Said(x[0].long(), 0, length)]
    for times in RUNS:
        row = x[int(rng.integers(len(x)))].long()
        found.append(_before(row, times) if rng.random() < 0.5 else _after(row, times))
    return found


def _before(row: Tensor, times: int) -> Said:
    """The word so often, and then the row, as far as there is room."""
    times = min(times, len(row))
    return Said(torch.cat([row[:1].expand(times), row[: len(row) - times]]), 0, times)


def _after(row: Tensor, times: int) -> Said:
    """The row, as far as there is room, and then the word so often."""
    times = min(times, len(row))
    last = min(int((row != 0).sum()), len(row) - times)
    return Said(torch.cat([row[:last], row[:1].expand(times), row[last + times :]]), last, times)


def words_held(model: Model, x: Tensor) -> np.ndarray | None:
    """[w] which of these words the rows hold; None where the model reads no words."""
    if model.name not in ANSWERS:
        return None
    held = np.zeros(model.weights[0].shape[0], dtype=bool)
    held[torch.unique(x).cpu().numpy()] = True
    return held[1:]
