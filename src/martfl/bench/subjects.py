"""What the market's bench trades: a lab's dataset, a network of a chosen size, or adapters of a language model."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import nn

from martfl.arrays import Array
from martfl.errors import InputError
from martfl.lab.data import load_dataset
from martfl.lab.task import make_task
from martfl.tasks.base_model import SMALL, base_identity, find_base, load_base, need_libraries
from martfl.tasks.errors import TaskError
from martfl.tasks.lora_task import lora
from martfl.tasks.protocol import Data, Task
from martfl.tasks.speeches import by_play, load_speeches
from martfl.tasks.texts import packed_rows
from martfl.tasks.torch_task import TorchTask
from martfl.values import Json

LAB = ("fmnist", "digits")
NETWORK, LORA = "network", "lora"
ROOT_ROWS = 200
WIDTH, CLASSES, ROWS, PASSES = 256, 10, 2000, 4  # of the network, of a seller's rows, of its training
LORA_ROOT = 16  # texts
LORA_TOKENS, LORA_BATCH = 128, 4
AT_SIZE = 5_000_000  # parameters from which adapters of a language model are traded, where there is one


@dataclass(frozen=True, eq=False)
class Subject:
    """A task with a buyer's rows and every seller's."""

    name: str
    task: Task
    root: Data
    shares: Sequence[Data]


def make_subject(name: str = "", *, parameters: int = 0, providers: int) -> Subject:
    """By name; where only a size is named, what has that size."""
    lab = "fmnist" if os.environ.get("MARTFL_DATA") else "digits"
    chosen = name or (_of_size(parameters) if parameters else lab)
    if chosen not in (*LAB, NETWORK, LORA):
        raise InputError(f"the bench trades {', '.join((*LAB, NETWORK, LORA))}, got {chosen!r}")
    if parameters and chosen in LAB:
        raise InputError(f"{chosen} has a model of its own: a size is for {NETWORK} and {LORA}, got {parameters}")
    if chosen in LAB:
        return _from_lab(chosen, providers)
    return (_network if chosen == NETWORK else _lora)(parameters or 1_000_000, providers)


def _of_size(parameters: int) -> str:
    """Adapters at size, where a language model is at hand; else a network."""
    if parameters < AT_SIZE:
        return NETWORK
    try:
        need_libraries()
        find_base(SMALL)
    except TaskError:
        return NETWORK
    return LORA


def _from_lab(name: str, providers: int) -> Subject:
    data = load_dataset(name)
    order = np.random.default_rng(0).permutation(len(data.train_y))
    root, *rest = (order[:ROOT_ROWS], *np.array_split(order[ROOT_ROWS:], providers))
    held = [(data.train_x[rows], data.train_y[rows]) for rows in (root, *rest)]
    return Subject(name, make_task(name), held[0], held[1:])


def _network(parameters: int, providers: int) -> Subject:
    """One wide layer on made-up rows: m = h·(256 + 1 + 10) + 10."""
    hidden = (parameters - CLASSES) // (WIDTH + 1 + CLASSES)
    if hidden < 1:
        raise InputError(f"the network has at least {WIDTH + 1 + 2 * CLASSES} parameters, got {parameters}")

    def make() -> nn.Module:
        return nn.Sequential(nn.Linear(WIDTH, hidden), nn.ReLU(), nn.Linear(hidden, CLASSES))

    rng = np.random.default_rng(0)
    truth = rng.normal(size=(WIDTH, CLASSES)).astype(np.float32)

    def rows(count: int) -> tuple[Array, Array]:
        x = rng.normal(size=(count, WIDTH)).astype(np.float32)
        return x, (x @ truth).argmax(axis=1)

    task = TorchTask(make, epochs=PASSES)
    return Subject(NETWORK, task, rows(ROOT_ROWS), [rows(ROWS) for _ in range(providers)])


def _lora(parameters: int, providers: int) -> Subject:
    """The largest rank of SmolLM2's adapters that has no more parameters; one pass over the shortest seller's play."""
    plays = list(by_play(load_speeches()).values())
    shares = [plays[1 + i % (len(plays) - 1)] for i in range(providers)]
    given: Json = {"base": SMALL, "identity": base_identity(SMALL), "tokens": LORA_TOKENS, "batch": LORA_BATCH}
    one = lora(**given, rank=1).layout.size
    if parameters < one:
        raise InputError(f"an adapter of rank 1 has {one} parameters, got {parameters}")
    shortest = min(packed_rows(play, load_base(SMALL).tokenizer, tokens=LORA_TOKENS).rows for play in shares)
    task = lora(**given, rank=parameters // one, steps=max(1, shortest // LORA_BATCH))
    return Subject(LORA, task, plays[0][:LORA_ROOT], shares)
