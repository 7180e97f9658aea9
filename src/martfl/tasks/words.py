"""Tasks of texts: what words these are made of, and texts in which a model is asked about each of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from martfl.tasks.errors import TaskError

RUNS = 3  # times at most that a word is said before or after a text


@dataclass(frozen=True)
class Words:
    """What texts are made of: the numbers of the words (not of padding), and how many a text has."""

    tokens: Sequence[int]
    length: int

    def __post_init__(self) -> None:
        if not len(self.tokens) or self.length < 1:
            raise TaskError(f"words need tokens and a length ≥ 1, got {len(self.tokens)} and {self.length}")

    def texts(self, inputs: object) -> Tensor:
        """A batch of texts [b, length], held to that form."""
        if not isinstance(inputs, Tensor) or inputs.is_floating_point() or inputs.shape[1:] != (self.length,):
            raise TaskError(
                f"a task with words reads tensors of their numbers, {self.length} in a row; got {shapes_of(inputs)}"
            )
        return inputs.cpu()

    def with_each(self, rows: Tensor, seed: int) -> Tensor:
        """[w, texts, length] nothing but the word; and drawn rows, cut to size, that it stands before or after."""
        rng, words = np.random.default_rng(seed), torch.tensor(list(self.tokens))[:, None]
        found = [words.repeat(1, self.length)]
        for times in range(1, min(RUNS, self.length) + 1):
            row = rows[int(rng.integers(len(rows)))][: self.length - times].repeat(len(words), 1)
            said = words.repeat(1, times)
            found.append(torch.cat([said, row] if rng.random() < 0.5 else [row, said], dim=1))
        return torch.stack(found, dim=1)


def shapes_of(inputs: Any) -> str:
    """Kinds and shapes of inputs, for messages."""
    if isinstance(inputs, Tensor):
        return f"{str(inputs.dtype).removeprefix('torch.')}{list(inputs.shape)}"
    parts = inputs.values() if isinstance(inputs, dict) else inputs
    return ", ".join(map(shapes_of, parts))
