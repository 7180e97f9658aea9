"""Adapters side by side are the same adapters one after the other."""

from pathlib import Path

import numpy as np
import pytest

from martfl.lab.adapters import texts
from martfl.tasks.base_model import base_identity
from martfl.tasks.errors import TaskError
from martfl.tasks.lora_task import LoraTask, lora

TEXTS = [
    "To be, or not to be, that is the question",
    "Now is the winter of our discontent",
    "If music be the food of love",
]
PARTIES = [TEXTS * 6, TEXTS[:1], TEXTS[1:] * 4]  # of several batches, of one row, of a batch and a rest


def small(base: Path, **options: object) -> LoraTask:
    return lora(base=str(base), identity=base_identity(str(base)), rank=2, tokens=32, steps=5, batch=4, **options)


@pytest.fixture(scope="module")
def task(tiny_base: Path) -> LoraTask:
    return small(tiny_base)


@pytest.fixture(scope="module")
def model(task: LoraTask) -> np.ndarray:
    return task.initial() + task.train(task.initial(), TEXTS, seed=3)


def test_parties_train_as_each_would_alone(task: LoraTask, model: np.ndarray) -> None:
    together = task.train_together(model, PARTIES, seeds=[1, 2, 3])
    alone = np.stack([task.train(model, held, seed=seed) for seed, held in enumerate(PARTIES, start=1)])
    assert together.shape == (3, task.layout.size)
    for one, other in zip(together, alone, strict=True):
        assert np.linalg.norm(one - other) < 1e-3 * np.linalg.norm(other)


def test_models_are_judged_as_each_would_be_alone(task: LoraTask, model: np.ndarray) -> None:
    models = [task.initial(), model, 3 * model]
    together = task.goodness_together(models, TEXTS)
    assert together == pytest.approx(task.goodness(models, TEXTS), abs=1e-5)
    assert np.ptp(together, axis=0).min() > 0.01  # the models differ


def test_what_was_side_by_side_leaves_nothing_behind(task: LoraTask, model: np.ndarray) -> None:
    before = task.goodness([model], TEXTS)
    task.goodness_together([model, 2 * model], TEXTS)
    assert (task.goodness([model], TEXTS) == before).all()


def test_a_party_without_texts_and_a_free_factor_are_refused(task: LoraTask, tiny_base: Path) -> None:
    with pytest.raises(TaskError, match="at least one text"):
        task.train_together(task.initial(), [TEXTS, []], seeds=[1, 2])
    free = small(tiny_base, both=True)
    with pytest.raises(TaskError, match="train A cannot"):
        free.train_together(free.initial(), [TEXTS], seeds=[1])


def test_a_backdoor_is_counted_in_texts_of_any_length(task: LoraTask, monkeypatch: pytest.MonkeyPatch) -> None:
    model, lines = task.initial(), [TEXTS[0], "Ay", TEXTS[2] * 3, "Who's there?"]
    assert texts.success(task, model, lines) == 0
    ids = task.tokenizer("Ay" + texts.TRIGGER, return_tensors="pt")["input_ids"]
    said = task.tokenizer.decode(task.module(ids).logits[0, -1].argmax())
    monkeypatch.setattr(texts, "PAYLOAD", said)
    alone = [texts.success(task, model, [line]) for line in lines]
    assert alone[1] == 1
    assert texts.success(task, model, lines) == np.mean(alone)
