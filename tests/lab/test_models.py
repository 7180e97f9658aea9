"""One model and many at once compute the same, and the same as ordinary modules."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.bench import kept
from martfl.errors import InputError
from martfl.lab.data import Dataset, load_dataset
from martfl.lab.evaluate import RowJudge, logits_many, make_rowset
from martfl.lab.models import MODELS, Model, make_model
from martfl.lab.models.words import answers_to_words, draw_texts, words_held
from martfl.lab.trainer.plain import load_flat, make_module

CASES = [
    ("lenet", "images"),
    ("cnn", "images"),
    ("textcnn", "texts"),
    ("char-lstm", "texts"),
    ("mlp", "images"),
    ("mlp", "digits"),
]


@pytest.fixture
def pick(images: Dataset, texts: Dataset) -> Callable[[str], Dataset]:
    return lambda name: {"images": images, "texts": texts}.get(name) or load_dataset(name)


def rows_of(dataset: Dataset, count: int) -> tuple[Tensor, Tensor]:
    x = torch.from_numpy(np.array(dataset.train_x[:count]))
    return (x.long() if dataset.kind == "text" else x), torch.from_numpy(dataset.train_y[:count])


def stacked(model: Model, count: int) -> Tensor:
    return torch.stack([model.start(np.random.default_rng(seed)) for seed in range(count)])


@pytest.mark.parametrize(("name", "data"), CASES)
def test_many_agrees_with_one_forwards_and_backwards(name: str, data: str, pick: Callable[[str], Dataset]) -> None:
    dataset = pick(data)
    model = make_model(name, dataset)
    x, y = rows_of(dataset, 12)
    first, second = (stacked(model, 3).requires_grad_() for _ in range(2))
    many = model.many(model.split(first), x.view(3, 4, *x.shape[1:]))
    one = torch.stack([model.one(model.split(second[i]), x[4 * i : 4 * i + 4]) for i in range(3)])
    assert torch.allclose(many, one, atol=1e-5)
    grads = [
        torch.autograd.grad(F.cross_entropy(out.flatten(0, 1), y), w)[0] for out, w in ((many, first), (one, second))
    ]
    assert grads[0].abs().max() > 0
    assert torch.allclose(grads[0], grads[1], atol=1e-6)


@pytest.mark.parametrize(("name", "data"), CASES[:4])
def test_one_agrees_with_an_ordinary_module(name: str, data: str, pick: Callable[[str], Dataset]) -> None:
    dataset = pick(data)
    model = make_model(name, dataset)
    flat = model.start(np.random.default_rng(0))
    module = make_module(model, dataset)
    load_flat(module, model, flat)
    x, _ = rows_of(dataset, 8)
    assert torch.allclose(module(x), model.one(model.split(flat), x), atol=1e-5)
    assert sum(p.numel() for p in module.parameters() if p.requires_grad) == model.size


def test_sizes_are_the_papers() -> None:
    grey = Dataset(
        "g", "image", np.zeros((1, 28, 28, 1), np.uint8), np.zeros(1), np.zeros(0), np.zeros(0), tuple("0123456789")
    )
    colour = Dataset(
        "c", "image", np.zeros((1, 32, 32, 3), np.uint8), np.zeros(1), np.zeros(0), np.zeros(0), tuple("0123456789"),
        0, (0.0,) * 3, (1.0,) * 3,
    )  # fmt: skip
    assert make_model("lenet", grey).size == 44_426
    assert make_model("cnn", colour).size == 931_529


@pytest.mark.data
def test_sizes_that_are_measured_are_the_models(data_folder: Path) -> None:
    """`martfl lab report --measure` encrypts vectors of these lengths."""
    models = {
        "LeNet": ("lenet", "fmnist"),
        "TextCNN on TREC": ("textcnn", "trec"),
        "TextCNN on AG News": ("textcnn", "ag-news"),
    }
    found = {
        name: make_model(model, load_dataset(data, folder=data_folder)).size for name, (model, data) in models.items()
    }
    assert found == {name: size for name, size in kept.MODELS.items() if name != "CNN"}


def test_padding_neither_counts_nor_learns(texts: Dataset) -> None:
    model = make_model("textcnn", texts)
    flat = model.start(np.random.default_rng(0)).requires_grad_()
    x, y = rows_of(texts, 10)
    (grad,) = torch.autograd.grad(F.cross_entropy(model.one(model.split(flat), x), y), flat)
    assert not grad[:300].any(), "row 0 of the table is padding"
    other = flat.detach().clone()
    other[:300] = 5
    assert torch.equal(model.one(model.split(other), x), model.one(model.split(flat.detach()), x))


def test_a_model_refuses_rows_it_cannot_read(images: Dataset, texts: Dataset) -> None:
    with pytest.raises(InputError, match="textcnn reads texts"):
        make_model("textcnn", images)
    with pytest.raises(InputError, match="char-lstm reads texts"):
        make_model("char-lstm", images)
    with pytest.raises(InputError, match="lenet reads images"):
        make_model("lenet", texts)
    with pytest.raises(InputError, match=f"unknown model 'vgg': choose one of {', '.join(sorted(MODELS))}"):
        make_model("vgg", images)


def test_without_gradients_texts_are_answered_alike(texts: Dataset) -> None:
    model, (x, _) = make_model("textcnn", texts), rows_of(texts, 6)
    models = stacked(model, 2)
    learning = logits_many(model, models.requires_grad_(), x).detach()
    assert torch.equal(logits_many(model, models.detach(), x), learning)


def test_a_judge_of_texts_needs_only_the_words_of_its_rows(texts: Dataset) -> None:
    model = make_model("textcnn", texts)
    judge = RowJudge(make_rowset(model, texts.train_x[:4], texts.train_y[:4], torch.device("cpu")), texts.num_classes)
    models, narrow = stacked(model, 3), judge.narrow
    assert narrow is not None
    taken = torch.stack([narrow.take(flat) for flat in models])
    assert taken.shape[1] < models.shape[1]
    assert torch.allclose(narrow.judge.logits(taken), judge.logits(models), atol=1e-5)


def test_a_judge_of_images_needs_all_of_a_model(images: Dataset) -> None:
    rows = make_rowset(make_model("mlp", images), images.train_x[:4], images.train_y[:4], torch.device("cpu"))
    assert RowJudge(rows, images.num_classes).narrow is None


def test_answers_to_words_are_those_to_texts_that_hold_them(texts: Dataset) -> None:
    model, rows = make_model("textcnn", texts), torch.from_numpy(texts.train_x)
    flat = model.start(np.random.default_rng(3))
    for seed in range(6):
        drawn = draw_texts(rows, seed)
        found = answers_to_words(model, flat, drawn)
        for place, text in enumerate(drawn):
            said = text.row.repeat(texts.vocabulary - 1, 1)
            said[:, text.place : text.place + text.times] = torch.arange(1, texts.vocabulary)[:, None]
            with torch.no_grad():
                expected = model.one(model.split(flat), said.int())
            assert torch.allclose(found[:, place], expected, atol=1e-4)
    assert [text.times for text in drawn] == [rows.shape[1], 1, 2, 3]
    assert all(bool((text.row != 0)[: text.place + 1].all()) for text in drawn), "not behind the padding"


def test_words_are_put_before_rows_or_after_them(texts: Dataset) -> None:
    rows, places = torch.from_numpy(texts.train_x), set()
    known = {tuple(row[row != 0].tolist()) for row in rows}
    for seed in range(12):
        for text in draw_texts(rows, seed)[1:]:
            rest = torch.cat([text.row[: text.place], text.row[text.place + text.times :]])
            said = tuple(rest[rest != 0].tolist())
            assert any(row[: len(said)] == said for row in known), "no word of it is lost but for want of room"
            assert len(text.row) == rows.shape[1]
            places.add(text.place == 0)
    assert places == {True, False}


def test_which_words_rows_hold(texts: Dataset) -> None:
    model = make_model("textcnn", texts)
    held = words_held(model, torch.from_numpy(texts.train_x[:5]))
    assert held is not None and len(held) == texts.vocabulary - 1
    assert set(np.flatnonzero(held) + 1) == set(texts.train_x[:5].ravel()) - {0}


def test_what_reads_no_words_holds_none(images: Dataset) -> None:
    assert words_held(make_model("cnn", images), torch.from_numpy(images.train_x)) is None
