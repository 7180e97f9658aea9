"""Any module as a task: training, buffers, what is traded, and judging."""

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from martfl.tasks import NegativeLoss, TaskError, TorchTask, read_csv, read_folder
from martfl.tasks.protocol import train_checked
from martfl.tasks.words import Words

Pair = tuple[np.ndarray, np.ndarray]


def make_net() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))


def make_rows(count: int = 96, *, seed: int = 0) -> Pair:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 4)).astype(np.float32)
    return x, x[:, :3].argmax(axis=1)


@pytest.fixture
def task() -> TorchTask:
    return TorchTask(make_net, epochs=3, batch=16)


def test_training_helps(task: TorchTask) -> None:
    start, unseen = task.initial(), make_rows(seed=1)
    update = train_checked(task, start, make_rows(), seed=0)
    before, after = task.quality(start, unseen), task.quality(start + update, unseen)
    assert list(before) == ["accuracy", "loss"]
    assert after["accuracy"] > before["accuracy"]
    assert task.goodness([start, start + update], unseen).mean(axis=1).argmax() == 1


def test_judging_agrees_with_itself(task: TorchTask) -> None:
    rows = make_rows()
    logits, strata = task.logits([task.initial()], rows), task.strata(rows)
    assert logits is not None
    assert strata is not None
    assert logits.shape == (1, 96, 3)
    assert np.array_equal(strata, rows[1])
    expected = -F.cross_entropy(torch.from_numpy(logits[0]), torch.from_numpy(strata), reduction="none").numpy()
    assert np.allclose(task.goodness([task.initial()], rows)[0], expected, atol=1e-5)
    assert task.quality(task.initial(), rows)["loss"] == pytest.approx(-expected.mean(), rel=1e-5)


def test_the_same_seed_gives_the_same_update_whatever_happens_around(task: TorchTask) -> None:
    rows, other = make_rows(), TorchTask(make_net, epochs=3, batch=16)
    torch.manual_seed(99)
    first = task.train(task.initial(), rows, seed=5)
    untouched = torch.rand(1)
    torch.manual_seed(99)
    assert torch.rand(1) == untouched
    assert np.array_equal(first, other.train(other.initial(), rows, seed=5))
    assert not np.array_equal(first, task.train(task.initial(), rows, seed=6))


def test_threads_give_what_they_would_give_alone(task: TorchTask) -> None:
    rows, model = make_rows(), task.initial()
    alone = [task.train(model, rows, seed=seed) for seed in range(4)]
    found: dict[int, np.ndarray] = {}
    work = [threading.Thread(target=lambda s=s: found.update({s: task.train(model, rows, seed=s)})) for s in range(4)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert all(np.array_equal(found[seed], alone[seed]) for seed in range(4))


def test_what_requires_no_gradient_is_not_traded() -> None:
    def frozen() -> nn.Module:
        net = make_net()
        net[0].requires_grad_(False)
        return net

    task = TorchTask(frozen)
    assert [part.name for part in task.layout.parts] == ["3.weight", "3.bias"]
    held = task.module[0].weight.detach().clone()
    task.train(task.initial(), make_rows(), seed=0)
    assert torch.equal(held, task.module[0].weight)
    with pytest.raises(TaskError, match="trains nothing"):
        TorchTask(lambda: nn.ReLU()).layout  # noqa: B018


def make_normed() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def test_buffers_are_traded_and_averaged_like_parameters() -> None:
    task, rows = TorchTask(make_normed), make_rows()
    names = [part.name for part in task.layout.parts]
    assert names[-2:] == ["1.running_mean", "1.running_var"]
    assert "1.num_batches_tracked" not in names
    one, two = (task.train(task.initial(), (rows[0] + shift, rows[1]), seed=0) for shift in (-1, 3))
    moved = task.layout.split((one + two) / 2)["1.running_mean"]
    assert np.allclose(moved, (task.layout.split(one)["1.running_mean"] + task.layout.split(two)["1.running_mean"]) / 2)
    assert np.abs(moved).max() > 0
    fixed = TorchTask(make_normed, buffers="fixed")
    assert not any("running" in part.name for part in fixed.layout.parts)


def test_a_variance_below_zero_is_read_as_zero() -> None:
    task, rows = TorchTask(make_normed), make_rows()
    model = task.initial()
    task.layout.split(model)["1.running_var"][...] = -0.5
    assert np.isfinite(task.goodness([model], rows)).all()


def test_regression_works_like_classification() -> None:
    x = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    y = (x @ np.array([1.0, -2.0, 0.5, 0.0])).astype(np.float32)
    task = TorchTask(lambda: nn.Linear(4, 1), loss=lambda out, y: F.mse_loss(out[:, 0], y), epochs=5)
    named = TorchTask(lambda: nn.Sequential(nn.Linear(4, 1), nn.Flatten(0)), loss=F.mse_loss, epochs=5)
    for one in (task, named):
        model = one.initial() + one.train(one.initial(), (x, y), seed=0)
        assert one.goodness([one.initial(), model], (x, y)).mean(axis=1).argmax() == 1
        assert one.strata((x, y)) is None
        assert one.logits([model], (x, y)) is None
    assert named.quality(model, (x, y))["r2"] > 0.9
    assert isinstance(task._judging, NegativeLoss)


def test_loaders_datasets_folders_and_csv_are_data(task: TorchTask, tmp_path: Path) -> None:
    x, y = make_rows()
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    table = tmp_path / "rows.csv"
    np.savetxt(table, np.column_stack([y, x]), delimiter=",", header="kind,a,b,c,d", comments="")
    tensors = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    sources = [read_folder(tmp_path), read_csv(table, target="kind"), tensors, DataLoader(tensors, 16, shuffle=True)]
    model = task.initial()
    expected = task.goodness([model], (x, y))
    for source in sources:
        assert task.rows(source) == 96
        assert np.allclose(task.goodness([model], source), expected, atol=1e-5)
        update = task.train(model, source, seed=1)
        assert np.array_equal(update, task.train(model, source, seed=1))
        assert task.quality(model + update, source)["accuracy"] > task.quality(model, source)["accuracy"]


def test_steps_end_training_early_or_late(task: TorchTask) -> None:
    told: list[tuple[int, int]] = []
    short = TorchTask(make_net, steps=4, batch=64, progress=lambda done, of: told.append((done, of)))
    short.train(short.initial(), make_rows(), seed=0)  # two batches an epoch
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_bad_data_is_refused_by_name(task: TorchTask, tmp_path: Path) -> None:
    x, y = make_rows()
    model = task.initial()
    with pytest.raises(TaskError, match="at least one row"):
        task.train(model, (x[:0], y[:0]), seed=0)
    with pytest.raises(TaskError, match="96 rows and 95 targets"):
        task.train(model, (x, y[1:]), seed=0)
    with pytest.raises(TaskError, match="pair of arrays"):
        task.train(model, {"x": x}, seed=0)
    with pytest.raises(TaskError, match=r"classes lie in 0\.\.2, got 7\.\.9"):
        task.goodness([model], (x, y + 7))
    with pytest.raises(TaskError, match=r"lacks y\.npy"):
        np.save(tmp_path / "x.npy", x)
        read_folder(tmp_path)
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3,\n", encoding="utf-8")
    with pytest.raises(TaskError, match="row 2, column 'b'"):
        read_csv(tmp_path / "bad.csv")


def test_bad_models_and_updates_are_refused_by_name(task: TorchTask) -> None:
    rows, broken = make_rows(), task.initial()
    task.layout.split(broken)["3.bias"][1] = np.nan
    with pytest.raises(TaskError, match=r"1 of \d+ are not, the first in 3\.bias is nan"):
        task.train(broken, rows, seed=0)
    wild = TorchTask(make_net, optimizer=lambda p: torch.optim.SGD(p, lr=1e30), epochs=3)
    with pytest.raises(TaskError, match="training must give finite numbers"):
        train_checked(wild, wild.initial(), rows, seed=0)
    with pytest.raises(TaskError, match="must give a vector of"):
        task.train(broken[1:], rows, seed=0)


class Bag(nn.Module):
    """Texts of numbers as the sum of what their words say; 0 pads."""

    def __init__(self) -> None:
        super().__init__()
        self.says = nn.Embedding(12, 3, padding_idx=0)

    def forward(self, texts: torch.Tensor) -> torch.Tensor:
        return self.says(texts).mean(dim=1)  # type: ignore[no-any-return]


def test_a_task_of_texts_says_what_it_answers_to_single_words() -> None:
    task = TorchTask(Bag, words=Words(tokens=range(1, 12), length=4))
    texts = torch.tensor([[3, 3, 7, 0], [7, 11, 0, 0]]), torch.tensor([0, 1])
    held = task.held_words(texts)
    assert held is not None and (np.flatnonzero(held) + 1).tolist() == [3, 7, 11]
    first = task.initial()
    update = task.train(first, texts, seed=0)
    before, after = task.by_word([first, first + update], texts, seed=1)
    table = task.layout.split(first)["says.weight"]
    assert before.shape == (11, 4, 3), "nothing but the word, and where it is said once, twice, three times"
    assert np.allclose(before[:, 0], table[1:], atol=1e-6)
    once = (before[:, 1] - before[0, 1]) * 4  # texts of four words, of which one differs
    assert np.allclose(once, table[1:] - table[1], atol=1e-5)
    assert (np.flatnonzero(np.abs(after - before)[:, 0].max(axis=1) > 1e-6) + 1).tolist() == [3, 7, 11]
    again, other = (next(task.by_word([first], texts, seed=seed)) for seed in (1, 2))
    assert np.array_equal(before, again) and not np.array_equal(before[:, 1:], other[:, 1:])


def test_without_words_there_are_no_answers(task: TorchTask) -> None:
    assert task.held_words(make_rows()) is None
    assert list(task.by_word([task.initial()], make_rows(), seed=0)) == []


def test_words_that_a_task_does_not_have_are_refused() -> None:
    with pytest.raises(TaskError, match="words need tokens and a length ≥ 1, got 0 and 4"):
        Words(tokens=[], length=4)
    with pytest.raises(TaskError, match=r"4 in a row; got float32\[32, 4\]"):
        TorchTask(make_net, words=Words(tokens=[1], length=4)).held_words(make_rows())
    spread = TorchTask(lambda: nn.Embedding(5, 3), words=Words(tokens=[1, 2], length=4))
    with pytest.raises(TaskError, match=r"gives \[texts, classes\], got outputs of shape \(8, 4, 3\)"):
        list(spread.by_word([spread.initial()], (torch.ones(2, 4).long(), torch.zeros(2)), seed=0))
