"""Tasks of texts: what words these are made of, and texts in which a model is asked about each of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from martfl.tasks.errors import TaskError

RUNS = 3  # times at most that a word is said where a text begins or ends


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
        """[w, texts, length] nothing but the word; and drawn rows that it begins or ends, said once, twice, thrice."""
        rng, words = np.random.default_rng(seed), torch.tensor(list(self.tokens))
        found = [words[:, None].repeat(1, self.length)]
        for times in range(1, min(RUNS, self.length) + 1):
            text = rows[int(rng.integers(len(rows)))].repeat(len(words), 1)
            place = 0 if rng.random() < 0.5 else self.length - times
            text[:, place : place + times] = words[:, None]
            found.append(text)
        return torch.stack(found, dim=1)


def shapes_of(inputs: Any) -> str:
    """Kinds and shapes of inputs, for messages."""
    if isinstance(inputs, Tensor):
        return f"{str(inputs.dtype).removeprefix('torch.')}{list(inputs.shape)}"
    parts = inputs.values() if isinstance(inputs, dict) else inputs
    return ", ".join(map(shapes_of, parts))
