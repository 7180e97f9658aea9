"""The batched and the looping trainer against torch.nn and torch.optim, on clients of uneven sizes."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from martfl.errors import InputError
from martfl.lab.data import Dataset, load_dataset
from martfl.lab.models import Model, make_model
from martfl.lab.trainer import LocalTraining, Plan, Shards, make_plan, make_trainer, prepare_device
from martfl.lab.trainer.base import Shards as ShardsType
from martfl.lab.trainer.batched import group_sizes
from martfl.lab.trainer.plain import PlainTrainer

SIZES = [21, 3, 16, 40]
Cut = Callable[[Dataset, list[int]], Shards]


def plan_of(shards: Shards, local: LocalTraining, shares: np.ndarray | None = None, index: int = 0) -> Plan:
    ones = np.ones(shards.clients) if shares is None else shares
    return make_plan(shards, local, seed=3, index=index, clients=list(range(shards.clients)), class_shares=ones)


def train(
    strategy: str,
    model: Model,
    shards: Shards,
    local: LocalTraining,
    plan: Plan,
    shares: np.ndarray | None = None,
    **options: int,
) -> torch.Tensor:
    ones = np.ones(shards.clients) if shares is None else shares
    trainer = make_trainer(strategy, model, shards, local, class_shares=ones, **options)
    return trainer.train(model.start(np.random.default_rng(0)), plan)


@pytest.fixture(
    params=[
        ("mlp", "digits", "sgd"),
        ("lenet", "images", "sgd"),
        ("textcnn", "texts", "adam"),
        ("cnn", "images", "adam"),
        ("char-lstm", "texts", "sgd"),
    ]
)
def case(request: pytest.FixtureRequest, images: Dataset, texts: Dataset, shards_of: Cut):
    name, data, optimizer = request.param
    dataset = {"images": images, "texts": texts}.get(data) or load_dataset(data)
    local = LocalTraining(optimizer, 1e-2 if optimizer == "sgd" else 1e-3, batch=8)
    return make_model(name, dataset), dataset, shards_of(dataset, SIZES), local


@pytest.mark.parametrize("strategy", ["batched", "loop"])
def test_agrees_with_the_plain_loop(strategy: str, case) -> None:
    model, dataset, shards, local = case
    plan = plan_of(shards, local)
    start = model.start(np.random.default_rng(0))
    expected = PlainTrainer(model, dataset, shards, local).train(start, plan)
    found = train(strategy, model, shards, local, plan)
    assert found.shape == (len(SIZES), model.size)
    assert float((found - expected).norm() / expected.norm()) < 2e-3  # Adam divides by small numbers
    assert float(expected.norm(dim=1).min()) > 0


def test_a_second_round_starts_afresh(case) -> None:
    model, _, shards, local = case
    trainer = make_trainer("batched", model, shards, local, class_shares=np.ones(len(SIZES)))
    start = model.start(np.random.default_rng(0))
    first = trainer.train(start, plan_of(shards, local))
    trainer.train(start + 1e-3, plan_of(shards, local, index=1))
    assert torch.equal(first, trainer.train(start, plan_of(shards, local)))


def test_capped_memory_changes_the_batches_and_not_the_result(case) -> None:
    model, _, shards, local = case
    plan = plan_of(shards, local)
    whole = train("batched", model, shards, local, plan)
    assert torch.allclose(whole, train("batched", model, shards, local, plan, memory_mb=1), atol=1e-6)


def test_the_number_of_workers_does_not_change_a_bit(case) -> None:
    model, _, shards, local = case
    plan = plan_of(shards, local)
    assert torch.equal(
        train("loop", model, shards, local, plan, workers=1), train("loop", model, shards, local, plan, workers=3)
    )


def test_attackers_that_stay_near_move_less_and_both_trainers_agree(texts: Dataset, shards_of: Cut) -> None:
    model = make_model("textcnn", texts)
    shards, local = shards_of(texts, [20, 20]), LocalTraining("sgd", 0.05, batch=8)
    shares = np.array([1.0, 0.3])
    plan = plan_of(shards, local, shares)
    near = train("batched", model, shards, local, plan, shares)
    free = train("batched", model, shards, local, plan_of(shards, local))
    assert torch.allclose(near, train("loop", model, shards, local, plan, shares), atol=1e-6)
    assert torch.equal(near[0], free[0])
    assert near[1].norm() < 0.7 * free[1].norm()


def test_untouched_words_do_not_move(texts: Dataset, shards_of: Cut) -> None:
    model, shards = make_model("textcnn", texts), shards_of(texts, [5, 5])
    local = LocalTraining("adam", 1e-3, batch=8)
    table = train("batched", model, shards, local, plan_of(shards, local))[:, : 40 * 300].view(2, 40, 300)
    for client in range(2):
        used = set(np.unique(texts.train_x[5 * client : 5 * client + 5])) - {0}
        moved = set(np.flatnonzero(table[client].abs().sum(1).numpy() > 0))
        assert moved <= used and moved


def test_bfloat16_is_close_and_off_by_default(images: Dataset, shards_of: Cut) -> None:
    model, shards = make_model("lenet", images), shards_of(images, [16, 16])
    exact, coarse = LocalTraining("sgd", 1e-2, batch=8), LocalTraining("sgd", 1e-2, batch=8, precision="bf16")
    whole = train("batched", model, shards, exact, plan_of(shards, exact))
    rough = train("batched", model, shards, coarse, plan_of(shards, coarse))
    assert not torch.equal(whole, rough)
    assert torch.nn.functional.cosine_similarity(whole.flatten(), rough.flatten(), dim=0) > 0.98


@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5), batch=st.integers(1, 9), epochs=st.integers(1, 3))
def test_a_plan_shows_every_row_once_an_epoch(sizes: list[int], batch: int, epochs: int) -> None:
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    shards = ShardsType(torch.zeros(sum(sizes)), torch.zeros(sum(sizes)), offsets)
    local = LocalTraining("sgd", 0.1, batch=batch, epochs=epochs)
    plan = plan_of(shards, local)
    for i, size in enumerate(sizes):
        blocks = -(-size // batch)
        assert plan.steps[i] == blocks * epochs
        for epoch in range(epochs):
            span = slice(epoch * blocks, (epoch + 1) * blocks)
            shown = plan.rows[span, i][plan.weights[span, i] > 0]
            assert sorted(shown) == list(range(offsets[i], offsets[i + 1]))
            assert np.allclose(plan.weights[span, i].sum(axis=1), 1)
    assert all((plan.weights[plan.steps[i] :, i] == 0).all() for i in range(len(sizes)))


@given(clients=st.integers(1, 200), size=st.integers(1, 1000), cap=st.integers(1, 5000))
def test_groups_hold_everyone_and_respect_the_cap(clients: int, size: int, cap: int) -> None:
    groups = group_sizes(clients, size, cap)
    assert sum(groups) == clients and min(groups) >= 1
    assert max(groups) * size <= cap or max(groups) == 1
    assert max(groups) - min(groups) <= 1


def test_streams_differ_by_round_and_participant() -> None:
    shards = ShardsType(torch.zeros(40), torch.zeros(40), np.array([0, 20, 40]))
    local = LocalTraining("sgd", 0.1, batch=20, epochs=1)
    first, again, later = plan_of(shards, local), plan_of(shards, local), plan_of(shards, local, index=1)
    assert np.array_equal(first.rows, again.rows)
    assert not np.array_equal(first.rows, later.rows)
    assert not np.array_equal(first.rows[0, 0], first.rows[0, 1] - 20)


def test_unknown_trainers_and_devices_are_refused(images: Dataset, shards_of: Cut) -> None:
    model, local = make_model("lenet", images), LocalTraining("sgd", 0.1)
    with pytest.raises(InputError, match="unknown trainer 'vmap': choose one of auto, batched, loop"):
        make_trainer("vmap", model, shards_of(images, [4]), local, class_shares=np.ones(1))
    with pytest.raises(InputError, match="device must be cpu or cuda, got 'tpu'"):
        prepare_device("tpu")
