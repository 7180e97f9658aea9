"""A task of texts in a whole market: the acquirer's rule asks about single words there, too."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from martfl.demo import simulate
from martfl.selection import taught
from martfl.tasks import TorchTask, Words

WORDS, LENGTH, CLASSES = 30, 6, 3


class Bag(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.says = nn.Embedding(WORDS + 1, CLASSES, padding_idx=0)

    def forward(self, texts: torch.Tensor) -> torch.Tensor:
        return self.says(texts).sum(dim=1)  # type: ignore[no-any-return]


def make_task() -> TorchTask:
    return TorchTask(Bag, epochs=6, batch=16, words=Words(tokens=range(1, WORDS + 1), length=LENGTH))


def texts(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The class is that of most of the words; every third word is of one class."""
    words = np.random.default_rng(seed).integers(1, WORDS + 1, (60, LENGTH))
    votes = np.stack([(words % CLASSES == one).sum(axis=1) for one in range(CLASSES)], axis=1)
    return torch.from_numpy(words), torch.from_numpy(votes.argmax(axis=1))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    found: list[Any] = []
    whole = taught.movement

    def movement(change: Any) -> Any:
        found.append(change)
        return whole(change)

    monkeypatch.setattr(taught, "movement", movement)
    yield found


def test_sellers_of_texts_are_asked_word_by_word(asked: list[Any]) -> None:
    sellers = {"Ash": texts(1), "Beech": texts(2), "Cedar": texts(3)}
    result = simulate(make_task, root=texts(4), test=texts(5), sellers=sellers, epochs=2)
    assert result.epochs[-1].mta > result.mta_start
    assert {change.shape for change in asked} == {(WORDS, 4, CLASSES)}
    assert len(asked) >= 2 * (1 + 1), "the own update and who delivered, in both epochs"
